import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { type AuditEvent, createAudit, ofAddress } from '../../../src/services/audit/audit.ts';
import { publishEvents } from '../../../src/services/events/event-rows.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { ACME, ADA, EDSGER, GLOBEX, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';
import { until } from '../../support/time.ts';
import {
  createWebhook as create,
  openQueue,
  rename,
  startReceiver,
  updateMany,
  webhookSuite,
} from '../../support/webhook-receiver.ts';

const webhooks = webhookSuite('webhooks');

/** All that decides who sees an event. */
const ACTIONS = ['user.import', 'login.fail', 'app.clear-cache', 'user.erase', 'user.update'] as const;

/** Entries about no client, each client, and both, with values and a reason. */
const entries = (): AuditEvent[] =>
  ACTIONS.flatMap((action) =>
    [[], [1], [2], [1, 2]].map(
      (clients) =>
        ({
          action,
          actor: { id: 2, email: ACME },
          target: ofAddress(`${action} of ${clients}`),
          clients,
          details: { name: { from: 'before', to: 'after' }, reason: 'why', id: 7 },
        }) as AuditEvent, // the shapes of details do not matter here
    ),
  );

webhooks(
  'what is heard is what events.list shows: to superusers, or to an admin of the client alone',
  async (context) => {
    const { app, receiver } = context;
    const hooks = new Map<string, string>();
    for (const [reader, client] of [
      [ROOT, null],
      [ACME, 1],
      [GLOBEX, 2],
    ] as const) {
      const url = `${receiver.url}?${reader}`;
      await app.as(ROOT).webhooks.create({ url, client });
      hooks.set(`/hook?${reader}`, reader);
    }
    const before = (await app.as(ROOT).events.list({ limit: 1_000 })).at(-1)?.id ?? 0;
    const em = app.orm.em.fork();
    const origin = { requestId: 'the-request', address: '192.0.2.1' };
    await em.transactional((tx) => createAudit(origin, app.clock).record(tx, entries()));
    await app.webhookWorker.drain();

    const wrong: string[] = [];
    let compared = 0;
    for (const [path, reader] of hooks) {
      const shown = await app.as(reader).events.list({ cursor: before, limit: 1_000 });
      const heard = receiver.received
        .filter(({ path: to, data }) => to === path && data.id > before)
        .map(({ data }) => data)
        .toSorted((a, b) => a.id - b.id);
      const expected = JSON.parse(JSON.stringify(shown));
      compared += expected.length;
      if (JSON.stringify(heard) !== JSON.stringify(expected)) wrong.push(reader);
    }
    assert.equal(wrong, []);
    assert.ok(compared > 6 * ACTIONS.length, `${compared} events`);
  },
);

webhooks(
  'what is heard is limited to the types of the webhook, and nothing while it is inactive',
  async ({ app, receiver }) => {
    const types = ['user.updated' as const, 'user.deactivated' as const];
    const { id } = await app.as(ACME).webhooks.create({ url: receiver.url, types, client: 1 });
    await app.as(ACME).users.update({ email: ADA, first_name: 'A.', apps: [] });
    await app.as(ACME).webhooks.update({ id, is_active: false });
    await app.as(ACME).users.update({ email: ADA, first_name: 'B.' });
    await app.as(ACME).webhooks.update({ id, is_active: true });
    await app.as(ACME).users.update({ email: GRACE, is_active: false });
    await app.webhookWorker.drain();

    assert.equal(receiver.types(), ['user.deactivated'], 'what waits for an inactive one is given up');
  },
);

webhooks(
  'what is heard goes on when the creator is deactivated, and ends with the client',
  async ({ app, receiver }) => {
    await app.as(GLOBEX).webhooks.create({ url: receiver.url, types: ['user.updated'], client: 2 });
    await sql`update users set is_active = false where email = ${GLOBEX}`.execute(app.db());
    await app.as(ROOT).users.update({ email: EDSGER, first_name: 'E.' });
    await app.webhookWorker.drain();
    assert.equal(receiver.types(), ['user.updated']);

    const root = app.as(ROOT);
    const site = await root.sites.create({ domain: 'short.test', name: 'Short' });
    const client = await root.clients.create({ name: 'Short', site: site.id });
    const { id } = await root.webhooks.create({ url: receiver.url, client: client.id });
    await sql`delete from clients where id = ${client.id}`.execute(app.db());
    await rejectsWith(root.webhooks.get({ id }), 'not-found');
  },
);

const listOf = (app: TestApp, id: number) => app.as(ROOT).webhooks.deliveries({ id });

webhooks('deliveries carry the event and a signature that standardwebhooks verifies', async (context) => {
  const { app, receiver } = context;
  const { secret } = await create(context);
  await rename(app);
  await app.webhookWorker.drain();

  const [got] = receiver.received;
  if (!got) return assert.unreachable();
  const verified = new Webhook(secret).verify(got.body, got.headers);
  const event = (await app.as(ACME).events.list({ types: 'user.updated', limit: 1_000 })).at(-1);
  assert.equal(
    verified,
    JSON.parse(JSON.stringify({ type: event?.type, timestamp: event?.timestamp, data: event })),
  );
  assert.is(got.id, `evt_${event?.id}`);
  assert.is(got.headers['content-type'], 'application/json');
  assert.throws(() => new Webhook(secret).verify(`${got.body} `, got.headers), 'No matching signature');
});

webhooks('deliveries are signed with both secrets for a day after a rotation', async (context) => {
  const { app, receiver } = context;
  const { id, secret } = await create(context);
  const rotated = await app.as(ROOT).webhooks.rotateSecret({ id });
  await rename(app);
  await app.webhookWorker.drain();
  const [got] = receiver.received;
  if (!got) return assert.unreachable();

  for (const one of [secret, rotated.secret]) new Webhook(one).verify(got.body, got.headers);
  assert.is(rotated.previous_until.getTime(), app.clock.now().getTime() + DAY_MS);

  app.clock.advance(DAY_MS);
  await app.renewToken(ACME);
  await rename(app);
  await app.webhookWorker.drain();
  assert.is(receiver.received[1]?.headers['webhook-signature']?.split(' ').length, 1);
});

webhooks(
  'deliveries are retried after a failure, with the same id, and keep the order of their subject',
  async (context) => {
    const { app, receiver } = context;
    const { id } = await create(context);
    receiver.answer = ({ data }) => (data.subject === ADA ? 500 : 204);
    for (const email of [ADA, ADA, GRACE, GRACE]) await rename(app, email);
    await app.webhookWorker.drain();

    assert.equal(
      receiver.received.map(({ data }) => data.subject),
      [ADA, GRACE, GRACE],
      'one that fails holds up its subject alone',
    );
    const waiting = (await listOf(app, id)).filter(({ status }) => status === 'waiting');
    assert.equal(
      waiting.map(({ attempts, response_status, response }) => [attempts, response_status, response]),
      [
        [0, null, null],
        [1, 500, 'answer 500'],
      ],
    );

    receiver.answer = () => 204;
    app.clock.advance(MINUTE_MS);
    await app.webhookWorker.drain();
    const ids = receiver.received.filter(({ data }) => data.subject === ADA).map((got) => got.data.id);
    assert.is(ids.length, 3);
    assert.is(ids[0], ids[1]);
    assert.ok(Number(ids[2]) > Number(ids[1]));
    assert.equal(
      (await listOf(app, id)).map(({ status }) => status),
      ['delivered', 'delivered', 'delivered', 'delivered'],
    );
  },
);

webhooks('deliveries to a slow receiver delay no other', async (context) => {
  const { app, receiver } = context;
  const fast = await startReceiver();
  await create(context);
  await create(context, { url: fast.url });
  const { promise: released, resolve: release } = Promise.withResolvers<number>();
  receiver.answer = () => released;
  for (let n = 0; n < 10; n++) await rename(app, n % 2 ? ADA : GRACE);
  const drained = app.webhookWorker.drain();
  await until('the fast one has all', () => fast.received.length === 10);
  assert.is(receiver.received.length, 2, 'one of each subject');

  release(204);
  await drained;
  fast.close();
  assert.is(receiver.received.length, 10);
});

webhooks('deliveries of a client leave room for those of others', async (context) => {
  const { app } = context;
  for (let n = 0; n < 8; n++) await create(context);
  const { id: other } = await create(context, { client: null });
  await updateMany(context, 10);

  const { claimed } = await openQueue(app).claim(100);

  const ofOther = claimed.filter(({ webhook_id }) => webhook_id === other);
  assert.equal([claimed.length - ofOther.length, ofOther.length], [20, 5]);
});

webhooks(
  'deliveries of a change of many people are enqueued in batches, between which others may read',
  async (context) => {
    const { app } = context;
    const { id } = await create(context);
    await updateMany(context, 1_200);
    const left = async () =>
      (await app.db().selectFrom('unpublished_events').select('entry_id').execute()).length;
    await app.as(ROOT).events.list({});
    // The first of the batch is the entry of the webhook itself.
    assert.is(await left(), 701);
    while (await publishEvents(app.orm.em.fork()));

    assert.is(await left(), 0);
    const queued = app.db().selectFrom('webhook_deliveries').select('event_id').where('webhook_id', '=', id);
    assert.is(new Set((await queued.execute()).map(({ event_id }) => event_id)).size, 1_200);
  },
);

webhooks('deliveries are replayed by event or by time, with the same ids', async (context) => {
  const { app, receiver } = context;
  const { id } = await create(context);
  const from = app.clock.now();
  for (const email of [ADA, ADA, GRACE]) await rename(app, email);
  await app.webhookWorker.drain();
  const [last] = await listOf(app, id);
  assert.ok(last);

  assert.equal(await app.as(ROOT).webhooks.replay({ id, event: last.event }), { queued: 1 });
  await app.webhookWorker.drain();
  assert.is(receiver.received.length, 4);
  assert.is(receiver.received[3]?.id, `evt_${last.event}`);

  receiver.received.length = 0;
  assert.equal(await app.as(ROOT).webhooks.replay({ id, from }), { queued: 3 });
  assert.equal(await app.as(ROOT).webhooks.replay({ id, from }), { queued: 0 }, 'they wait already');
  await app.webhookWorker.drain();
  const ids = receiver.received.filter(({ data }) => data.subject === ADA).map(({ data }) => data.id);
  assert.equal(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  assert.is(receiver.received.length, 3);
});

webhooks('deliveries are deleted seven days after they have ended', async (context) => {
  const { app } = context;
  const { id } = await create(context);
  await rename(app);
  await app.webhookWorker.drain();
  app.clock.advance(7 * DAY_MS + 1);
  await app.pruneWebhooks();
  await app.renewToken(ROOT);

  assert.equal(await listOf(app, id), []);
});

webhooks(
  'that fail are disabled if the receiver answers 410, and what waits is given up',
  async (context) => {
    const { app, receiver } = context;
    const { id } = await create(context);
    receiver.answer = () => 410;
    await rename(app);
    await rename(app);
    await app.webhookWorker.drain();

    const webhook = await app.as(ROOT).webhooks.get({ id });
    assert.equal([webhook.is_active, webhook.disabled_reason], [false, 'gone']);
    assert.equal(webhook.disabled_at, app.clock.now());
    assert.is(receiver.received.length, 1);
    assert.equal(
      (await app.as(ROOT).webhooks.deliveries({ id })).map(({ status, error }) => [status, error]),
      [
        ['failed', 'The webhook was deactivated.'],
        ['failed', null],
      ],
    );
    const mails = await app
      .db()
      .selectFrom('outbox_mails')
      .select(['recipient', 'client_id'])
      .where('kind', '=', 'webhook-disabled')
      .execute();
    assert.equal(mails, [{ recipient: ACME, client_id: 1 }]);
    const [entry] = await app.as(ACME).audit.list({ action: 'webhook.disable', limit: 1 });
    assert.equal(entry?.details, { id, reason: 'gone' });

    await app.as(ROOT).webhooks.update({ id, is_active: true });
    assert.is((await app.as(ROOT).webhooks.get({ id })).disabled_reason, null);
  },
);

webhooks('that fail mail their admins once a day, however often they are disabled', async (context) => {
  const { app, receiver } = context;
  const { id } = await create(context);
  receiver.answer = () => 410;
  const mailed = () =>
    app.db().selectFrom('outbox_mails').select('recipient').where('webhook_id', '=', id).execute();
  await rename(app);
  await app.webhookWorker.drain();
  const event = (await app.as(ROOT).webhooks.deliveries({ id }))[0]?.event;
  const disableAgain = async () => {
    await app.as(ROOT).webhooks.update({ id, is_active: true });
    await app.as(ROOT).webhooks.replay({ id, event });
    await app.webhookWorker.drain();
    assert.is((await app.as(ROOT).webhooks.get({ id })).disabled_reason, 'gone');
  };
  for (let n = 0; n < 4; n++) await disableAgain();
  assert.equal(await mailed(), [{ recipient: ACME }]);

  await app.db().updateTable('outbox_mails').set({ failed_at: app.clock.now() }).execute();
  await disableAgain();
  assert.is((await mailed()).length, 2, 'one that was not sent does not count');

  app.clock.advance(DAY_MS);
  await app.renewToken(ROOT);
  await disableAgain();
  assert.is((await mailed()).length, 3);
});

webhooks('that fail for five days without a success are disabled', async (context) => {
  const { app, receiver } = context;
  const { id } = await create(context, { client: null });
  receiver.answer = () => 500;
  for (let day = 0; day < 4; day++) {
    await app.renewToken(ACME);
    await rename(app);
    await app.webhookWorker.drain();
    app.clock.advance(DAY_MS);
    await app.webhookWorker.drain();
  }
  await app.renewToken(ROOT);
  assert.is((await app.as(ROOT).webhooks.get({ id })).is_active, true);
  await app.renewToken(ACME);
  await rename(app);
  app.clock.advance(DAY_MS);
  await app.webhookWorker.drain();
  await app.renewToken(ROOT);

  const webhook = await app.as(ROOT).webhooks.get({ id });
  assert.equal([webhook.is_active, webhook.disabled_reason], [false, 'failing']);
  const mail = app.db().selectFrom('outbox_mails').select(['recipient']).where('webhook_id', '=', id);
  assert.equal(await mail.execute(), [{ recipient: ROOT }]);
});

webhooks('that fail get one delivery at a time, and others five', async (context) => {
  const { app } = context;
  await create(context);
  await updateMany(context, 12);
  const queue = openQueue(app);

  const { claimed } = await queue.claim(50);
  assert.is(claimed.length, 5);
  assert.equal((await queue.claim(50)).claimed, []);

  const failure = { status: 500, duration_ms: 1, response: null, error: null };
  for (const delivery of claimed) await queue.record(delivery, failure);
  app.clock.advance(MINUTE_MS);
  assert.is((await queue.claim(50)).claimed.length, 1);
});

webhooks('that fail are asked at once after they have got another URL or secret', async (context) => {
  const { app, receiver } = context;
  const { id } = await create(context);
  await rename(app);
  receiver.answer = () => 500;
  const fail = async () => {
    for (let n = 0; n < 3; n++) {
      app.clock.advance(MINUTE_MS);
      await app.webhookWorker.drain();
    }
    receiver.received.length = 0;
    await rename(app, GRACE);
    await app.webhookWorker.drain();
    assert.is(receiver.received.length, 0);
  };
  await fail();
  await app.as(ROOT).webhooks.update({ id, url: `${receiver.url}?mended` });
  await app.webhookWorker.drain();
  assert.is(receiver.received.length, 1);
  await fail();
  await app.as(ROOT).webhooks.rotateSecret({ id });
  await updateMany(context, 1);
  await app.webhookWorker.drain();
  assert.is(receiver.received.length, 1);
});

webhooks(
  'that fail for a day give up what has waited for so long, also without an attempt',
  async (context) => {
    const { app, receiver } = context;
    const { id } = await create(context);
    receiver.answer = () => {
      app.clock.advance(10);
      return 500;
    };
    await updateMany(context, 50);
    await app.webhookWorker.drain();
    app.clock.advance(DAY_MS - MINUTE_MS);
    await updateMany(context, 1);
    await app.webhookWorker.drain();
    await app.pruneWebhooks();
    await app.renewToken(ROOT);
    const list = (status: 'waiting' | 'failed') =>
      app.as(ROOT).webhooks.deliveries({ id, status, limit: 100 });
    assert.is((await list('waiting')).length, 51);

    app.clock.advance(MINUTE_MS);
    await app.pruneWebhooks();
    const [waiting, ...others] = await list('waiting');
    assert.is(others.length, 0);
    assert.is(waiting?.attempts, 0);
    const failed = await list('failed');
    assert.is(failed.length, 50);
    const error = 'The webhook failed for a day.';
    assert.ok(failed.some((each) => each.attempts === 0 && each.error === error));

    receiver.answer = () => 204;
    receiver.received.length = 0;
    app.clock.advance(10 * MINUTE_MS);
    await app.webhookWorker.drain();
    assert.is(receiver.received.length, 1, 'the next one of the subject follows');
  },
);

webhooks.run();
