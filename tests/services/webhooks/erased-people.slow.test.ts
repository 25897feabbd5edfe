import * as assert from 'uvu/assert';
import { erase } from '../../support/person.ts';
import { ACME, ROOT } from '../../support/test-app.ts';
import { openQueue, webhookSuite } from '../../support/webhook-receiver.ts';

const listeners = webhookSuite('what webhooks hear');

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
  const queue = openQueue(app);
  const [sent] = (await queue.claim(5)).claimed;
  if (!sent) return assert.unreachable();
  await erase(app, email);
  await queue.record(sent, { status: 200, duration_ms: 1, response: sent.body, error: null });
  const [kept] = await app.as(ROOT).webhooks.deliveries({ id });
  assert.is(kept?.status, 'delivered');
  assert.not.match(JSON.stringify(kept), email);
});

listeners.run();
