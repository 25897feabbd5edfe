import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { countUnreadableWebhooks } from '../../src/services/webhooks/webhooks.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, GLOBEX, ROOT, startTestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const URL = 'https://hooks.acme.test/steward?token=secret';

const webhooks = appSuite('webhooks');

webhooks.before.each(async ({ app }) => {
  await app.db().deleteFrom('webhooks').execute();
});

webhooks('show their secret once', async ({ app }) => {
  const { secret, ...created } = await app.as(ACME).webhooks.create({ url: URL, client: 1 });
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(created, await app.as(ACME).webhooks.get({ id: created.id }));
  assert.equal([created.types, created.is_active, created.created_by], [[], true, ACME]);
  assert.not.match(JSON.stringify(await app.as(ACME).webhooks.list({})), secret);

  const { rows } = await sql<{ text: string }>`select w::text as text from webhooks w`.execute(app.db());
  for (const text of [secret, Buffer.from(secret).toString('hex')])
    assert.not.match(rows[0]?.text ?? '', text);
});

webhooks('belong to clients of their admins; superusers have all', async ({ app }) => {
  const acme = await app.as(ACME).webhooks.create({ url: URL, client: 1 });
  const globex = await app.as(GLOBEX).webhooks.create({ url: URL, client: 2 });
  const all = await app.as(ROOT).webhooks.create({ url: URL });

  const idsOf = async (who: string) => (await app.as(who).webhooks.list({})).map(({ id }) => id);
  assert.equal(await idsOf(ROOT), [acme.id, globex.id, all.id]);
  assert.equal(await idsOf(ACME), [acme.id]);
  const [only, ...others] = await app.as(ROOT).webhooks.list({ client: 2 });
  assert.equal([only?.id, others], [globex.id, []]);
  await rejectsWith(app.as(ACME).webhooks.get({ id: all.id }), 'not-found');
  await rejectsWith(app.as(ACME).webhooks.create({ url: URL }), 'forbidden');
});

webhooks('are at most 20 of a client, or of the installation, also if created at once', async ({ app }) => {
  for (const client of [1, null]) {
    const create = () => app.as(ROOT).webhooks.create({ url: URL, client });
    const settled = await Promise.allSettled(Array.from({ length: 25 }, create));
    assert.is(settled.filter(({ status }) => status === 'fulfilled').length, 20);
    const { fields } = await rejectsWith(create(), 'invalid-input');
    assert.equal(fields, { client: ['There can be 20 webhooks. Remove one first.'] });
  }
});

webhooks('are audited without their URLs, for their clients', async ({ app }) => {
  const { id } = await app.as(ACME).webhooks.create({ url: URL, client: 1 });
  await app.as(ACME).webhooks.update({ id, url: `${URL}2`, types: ['user.created'] });
  await app.as(ACME).webhooks.rotateSecret({ id });
  await app.as(ACME).webhooks.replay({ id, from: new Date(0) });
  await app.as(ACME).webhooks.remove({ id });

  const entries = await app.as(ACME).audit.list({ target: 'hooks.acme.test', limit: 5 });
  const changes = { types: { from: [], to: ['user.created'] }, url: { from: null, to: null } };
  const expected = [
    ['webhook.remove', [1], { id }],
    ['webhook.replay', [1], { id, queued: 0 }],
    ['webhook.rotate-secret', [1], { id }],
    ['webhook.update', [1], { id, ...changes }],
    ['webhook.create', [1], { id }],
  ];
  assert.equal(
    entries.map(({ action, clients, details }) => [action, clients, details]),
    expected,
  );
});

webhooks('are tested at once, and say what their receiver answered', async ({ app }) => {
  const receiver = await startReceiver();
  const { id } = await app.as(ACME).webhooks.create({ url: receiver.url, client: 1 });
  receiver.answer = () => 418;
  const { duration_ms, ...attempt } = await app.as(ACME).webhooks.test({ id });
  receiver.close();

  assert.equal(attempt, { status: 418, response: 'answer 418', error: null });
  assert.type(duration_ms, 'number');
  assert.equal(receiver.types(), ['webhook.test']);
  const gone = await app.as(ACME).webhooks.test({ id });
  assert.is(gone.status, null);
  assert.match(gone.error ?? '', 'connection refused');
});

webhooks('are tested one at a time by a client, in no transaction', async ({ app }) => {
  const receiver = await startReceiver();
  const { id } = await app.as(ACME).webhooks.create({ url: receiver.url, client: 1 });
  const openTransactions = async () => {
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and state = 'idle in transaction'`.execute(app.db());
    return rows.length;
  };
  receiver.answer = async () => {
    // One around the call would stay open until the answer.
    await until('no transaction is open', async () => (await openTransactions()) === 0);
    return 204;
  };
  const test = () =>
    app.send(`POST /jb/webhooks/${id}/test/`, { as: ACME, headers: { 'idempotency-key': 'a-test' } });
  const answers = await Promise.all([test(), test(), test()]);
  receiver.close();

  for (const answer of answers) assert.is(answer.json().status, 204);
  assert.is(receiver.mostAtOnce, 1);
});

webhooks('replay nothing while they are inactive, nor events that they do not hear', async ({ app }) => {
  const { id } = await app.as(ACME).webhooks.create({ url: URL, client: 1 });
  await rejectsWith(app.as(ACME).webhooks.replay({ id, event: 999_999 }), 'invalid-input');
  await rejectsWith(app.as(ACME).webhooks.replay({ id }), 'invalid-input');
  await app.as(ACME).webhooks.update({ id, is_active: false });
  await rejectsWith(app.as(ACME).webhooks.replay({ id, event: 1 }), 'invalid-input');
});

webhooks('are counted if SECRET_KEY does not decrypt their secrets', async ({ app }) => {
  await app.as(ACME).webhooks.create({ url: URL, client: 1 });
  const em = app.orm.em.fork();
  assert.is(await countUnreadableWebhooks(em, 'a secret key that only tests ever use'), 0);
  assert.is(await countUnreadableWebhooks(em, 'another secret key of this service'), 1);
});

webhooks('cannot have URLs in private networks, unless a setting allows it', async () => {
  const app = await startTestApp({ WEBHOOK_PRIVATE_NETWORKS: '0' });
  const create = (url: string) => app.as(ACME).webhooks.create({ url, client: 1 });
  for (const url of [
    'http://hooks.acme.test/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://017700000001/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://169.254.169.254/latest/',
    'https://user:password@hooks.acme.test/',
    'ftp://hooks.acme.test/',
    'nothing',
  ])
    await rejectsWith(create(url), 'invalid-input');

  // A name is looked up when it is connected to.
  const { id } = await create('https://localhost/');
  const { status, error } = await app.as(ACME).webhooks.test({ id });
  assert.equal([status, error], [null, 'localhost is in a private network.']);
  await app.close();
});

webhooks.run();
