import { Webhook } from 'standardwebhooks';
import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { createGuardedFetch } from '../../../src/lib/guarded-fetch.ts';
import { createSender } from '../../../src/services/webhooks/webhook-sending.ts';
import { ACME, ADA, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';
import { until } from '../../support/time.ts';
import {
  createWebhook as create,
  rename,
  startReceiver,
  updateMany,
  webhookSuite,
} from '../../support/webhook-receiver.ts';

const deliveries = webhookSuite('webhook deliveries');

const listOf = (app: TestApp, id: number) => app.as(ROOT).webhooks.deliveries({ id });

deliveries('carry the event and a signature that standardwebhooks verifies', async (context) => {
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

deliveries('are signed with both secrets for a day after a rotation', async (context) => {
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

deliveries(
  'are retried after a failure, with the same id, and keep the order of their subject',
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

deliveries('are given up after a day of failures; the next one of the subject follows', async (context) => {
  const { app, receiver } = context;
  const { id } = await create(context);
  receiver.answer = () => 503;
  await rename(app);
  const startedAt = app.clock.now().getTime();
  const waits: number[] = [];
  for (let attempts = 0; ; ) {
    await app.webhookWorker.drain();
    const [delivery] = await listOf(app, id);
    if (delivery?.status !== 'waiting') break;
    assert.is(delivery.attempts, ++attempts);
    waits.push(Number(delivery.next_attempt_at) - app.clock.now().getTime());
    app.clock.advance(waits.at(-1) ?? 0);
  }

  const [failed] = await listOf(app, id);
  assert.is(failed?.status, 'failed');
  assert.ok(app.clock.now().getTime() - startedAt >= DAY_MS);
  assert.ok(app.clock.now().getTime() - startedAt < DAY_MS + 2 * HOUR_MS);
  assert.ok(waits.every((wait, index) => index === 0 || wait >= (waits[index - 1] ?? 0)));
  assert.ok(waits.length > 15 && waits.length < 30, `${waits.length} attempts`);

  receiver.answer = () => 204;
  await app.renewToken(ACME);
  await rename(app);
  app.clock.advance(10 * MINUTE_MS);
  await app.webhookWorker.drain();
  await app.renewToken(ROOT);
  assert.is((await listOf(app, id))[0]?.status, 'delivered');
});

deliveries('to a slow receiver delay no other', async (context) => {
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

deliveries('to slow receivers of a client leave room for those of others', async (context) => {
  const { app, receiver } = context;
  const other = await startReceiver();
  for (let n = 0; n < 8; n++) await create(context);
  await create(context, { url: other.url, client: null });
  const emails = Array.from({ length: 10 }, (_, n) => `crowd${n}@acme.test`);
  for (const email of emails) await app.as(ACME).users.create({ email });
  const { promise: released, resolve: release } = Promise.withResolvers<number>();
  receiver.answer = () => released;
  for (const email of emails) await rename(app, email);
  const drained = app.webhookWorker.drain();
  await until('the other has all', () => other.received.length === emails.length);
  await until('twenty have come in', () => receiver.mostAtOnce >= 20);
  assert.is(receiver.mostAtOnce, 20);

  release(204);
  await drained;
  other.close();
  assert.is(receiver.received.length, 8 * emails.length);
});

deliveries(
  'of a change of many people are enqueued in batches, between which others may read',
  async (context) => {
    const { app, receiver } = context;
    const { id } = await create(context);
    await updateMany(context, 1200);
    const left = async () =>
      Number(
        (
          await app
            .db()
            .selectFrom('unpublished_events')
            .select((row) => row.fn.countAll().as('count'))
            .executeTakeFirstOrThrow()
        ).count,
      );
    await app.as(ROOT).events.list({});
    assert.is(await left(), 701);
    await app.webhookWorker.drain();

    assert.is(await left(), 0);
    assert.is(receiver.received.length, 1200);
    const ids = receiver.received.map(({ data }) => data.id);
    assert.is(new Set(ids).size, 1200);
    assert.is((await app.as(ROOT).webhooks.deliveries({ id, status: 'waiting' })).length, 0);
  },
);

deliveries('to a receiver that never answers fail after a time', async ({ receiver }) => {
  receiver.answer = () => null;
  const limits = { allowsPrivate: true, timeoutMs: 100, maxBytes: 100, truncates: true };
  const message = { id: 'evt_1', url: receiver.url, body: '{}', secrets: ['whsec_c2VjcmV0'], at: new Date() };
  const { status, error } = await createSender(createGuardedFetch(limits))(message);

  assert.equal([status, error], [null, 'There was no response in time.']);
});

deliveries('treat redirects as failures', async (context) => {
  const { app, receiver } = context;
  const { id } = await create(context);
  receiver.answer = () => 302;
  await rename(app);
  await app.webhookWorker.drain();

  assert.is(receiver.received.length, 1);
  assert.equal(
    [(await listOf(app, id))[0]?.status, (await listOf(app, id))[0]?.response_status],
    ['waiting', 302],
  );
});

deliveries('are replayed by event or by time, with the same ids', async (context) => {
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

deliveries('are deleted seven days after they have ended', async (context) => {
  const { app } = context;
  const { id } = await create(context);
  await rename(app);
  await app.webhookWorker.drain();
  app.clock.advance(7 * DAY_MS + 1);
  await app.pruneWebhooks();
  await app.renewToken(ROOT);

  assert.equal(await listOf(app, id), []);
});

deliveries.run();
