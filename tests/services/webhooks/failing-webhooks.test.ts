import { setTimeout as pause } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { ACME, GRACE, ROOT } from '../../support/test-app.ts';
import { until } from '../../support/time.ts';
import {
  createWebhook as create,
  rename,
  startReceiver,
  updateMany,
  webhookSuite,
} from '../../support/webhook-receiver.ts';

const failing = webhookSuite('webhooks that fail');

failing('are disabled if the receiver answers 410, and what waits is given up', async (context) => {
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
});

failing('mail their admins once a day, however often they are disabled', async (context) => {
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

failing('for five days without a success are disabled', async (context) => {
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

failing('get one delivery at a time, and others five', async (context) => {
  const { app, receiver } = context;
  await create(context);
  const emails = Array.from({ length: 12 }, (_, n) => `many${n}@acme.test`);
  for (const email of emails) await app.as(ACME).users.create({ email });
  for (const email of emails) await rename(app, email);
  const answer = async () => {
    // More would follow.
    await pause(20);
    return 500;
  };
  receiver.answer = async () => {
    await until('five come in', () => receiver.mostAtOnce >= 5, 5_000).catch(() => {});
    return answer();
  };
  await app.webhookWorker.drain();
  assert.is(receiver.mostAtOnce, 5);

  app.clock.advance(MINUTE_MS);
  receiver.mostAtOnce = 0;
  receiver.answer = answer;
  await app.webhookWorker.drain();
  assert.is(receiver.mostAtOnce, 1);
});

failing('are not asked for one subject after another', async (context) => {
  const { app, receiver } = context;
  const healthy = await startReceiver();
  const { id } = await create(context);
  await create(context, { url: healthy.url });
  receiver.answer = () => {
    app.clock.advance(10);
    return 500;
  };
  await updateMany(context, 200);
  for (let minute = 0; minute < 60; minute++) {
    await app.webhookWorker.drain();
    app.clock.advance(MINUTE_MS);
  }
  healthy.close();
  assert.is(healthy.received.length, 200);
  assert.ok(receiver.received.length > 10 && receiver.received.length < 40, `${receiver.received.length}`);

  receiver.answer = () => 204;
  receiver.received.length = 0;
  app.clock.advance(HOUR_MS);
  await app.renewToken(ROOT);
  await app.webhookWorker.drain();
  assert.is(receiver.received.length, 200, 'all follow the first that succeeds');
  assert.equal(await app.as(ROOT).webhooks.deliveries({ id, status: 'waiting' }), []);
});

failing('are asked at once after they have got another URL or secret', async (context) => {
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

failing('for a day give up what has waited for so long, also without an attempt', async (context) => {
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
  const list = (status: 'waiting' | 'failed') => app.as(ROOT).webhooks.deliveries({ id, status, limit: 100 });
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
});

failing.run();
