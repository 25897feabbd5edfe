import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { type AuditEvent, createAudit } from '../../../src/services/audit/audit.ts';
import { AUDIT_ACTIONS } from '../../../src/services/audit/event-types.ts';
import { erase } from '../../support/person.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { suite } from '../../support/suite.ts';
import {
  ACME,
  ADA,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  startTestApp,
  type TestApp,
} from '../../support/test-app.ts';
import { type Receiver, startReceiver } from '../../support/webhook-receiver.ts';

type Context = { app: TestApp; receiver: Receiver };

const listeners = suite<Context>('what webhooks hear');

listeners.before.each(async (context) => {
  context.app = await startTestApp();
  context.receiver = await startReceiver();
});
listeners.after.each(async ({ app, receiver }) => {
  receiver.close();
  await app.close();
});

/** For each type of event, entries about no client, each client, and both, with values and a reason. */
const entries = (): AuditEvent[] =>
  AUDIT_ACTIONS.flatMap((action) =>
    [[], [1], [2], [1, 2]].map(
      (clients) =>
        ({
          action,
          actor: { email: ACME },
          target: `${action} of ${clients}`,
          clients,
          details: { name: { from: 'before', to: 'after' }, reason: 'why', id: 7 },
        }) as AuditEvent, // the shapes of details do not matter here
    ),
  );

listeners('is what events.list shows: to superusers, or to an admin of the client alone', async (context) => {
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
  assert.ok(compared > 6 * AUDIT_ACTIONS.length, `${compared} of ${AUDIT_ACTIONS.length} types`);
});

listeners(
  'is limited to the types of the webhook, and nothing while it is inactive',
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

listeners('goes on when the creator is deactivated, and ends with the client', async ({ app, receiver }) => {
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
});

listeners(
  'has the pseudonym of a person who is erased before it is sent, and in what was sent',
  async (context) => {
    const { app, receiver } = context;
    const { id } = await app.as(ROOT).webhooks.create({ url: receiver.url, types: ['user.created'] });
    const email = 'erased@acme.test';
    await app.as(ACME).users.create({ email });
    await app.webhookWorker.drain();
    receiver.answer = () => 500;
    await app.as(ROOT).webhooks.replay({ id, event: receiver.received[0]?.data.id ?? 0 });
    assert.match(receiver.received[0]?.body ?? '', email);
    await erase(app, email);
    const [kept] = await app.as(ROOT).webhooks.deliveries({ id });
    assert.not.match(JSON.stringify(kept?.body), email);

    await app.webhookWorker.drain();
    assert.is(receiver.received.length, 2);
    assert.not.match(receiver.received[1]?.body ?? '', email);
    assert.match(receiver.received[1]?.body ?? '', '@erased.invalid');
  },
);

listeners('keeps no response to what an erasure has replaced', async ({ app, receiver }) => {
  const { id } = await app.as(ROOT).webhooks.create({ url: receiver.url, types: ['user.created'] });
  const email = 'echoed@acme.test';
  await app.as(ACME).users.create({ email });
  receiver.answer = async ({ body }) => {
    await erase(app, email);
    receiver.echo = body;
    return 200;
  };
  await app.webhookWorker.drain();
  const [kept] = await app.as(ROOT).webhooks.deliveries({ id });
  assert.is(kept?.status, 'delivered');
  assert.not.match(JSON.stringify(kept), email);
});

listeners.run();
