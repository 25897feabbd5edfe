import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { ACME, ROOT, type TestApp } from '../../support/test-app.ts';
import {
  createWebhook as create,
  rename,
  startReceiver,
  updateMany,
  webhookSuite,
} from '../../support/webhook-receiver.ts';

const webhooks = webhookSuite('webhooks');

const listOf = (app: TestApp, id: number) => app.as(ROOT).webhooks.deliveries({ id });

webhooks(
  'deliveries are given up after a day of failures; the next one of the subject follows',
  async (context) => {
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
  },
);

webhooks('that fail are not asked for one subject after another', async (context) => {
  const { app, receiver } = context;
  const healthy = await startReceiver();
  const { id } = await create(context);
  await create(context, { url: healthy.url });
  receiver.answer = () => {
    app.clock.advance(10);
    return 500;
  };
  await updateMany(context, 60);
  for (let minute = 0; minute < 60; minute++) {
    await app.webhookWorker.drain();
    app.clock.advance(MINUTE_MS);
  }
  healthy.close();
  assert.is(healthy.received.length, 60);
  assert.ok(receiver.received.length > 10 && receiver.received.length < 40, `${receiver.received.length}`);

  receiver.answer = () => 204;
  receiver.received.length = 0;
  app.clock.advance(HOUR_MS);
  await app.renewToken(ROOT);
  await app.webhookWorker.drain();
  assert.is(receiver.received.length, 60, 'all follow the first that succeeds');
  assert.equal(await app.as(ROOT).webhooks.deliveries({ id, status: 'waiting' }), []);
});

webhooks.run();
