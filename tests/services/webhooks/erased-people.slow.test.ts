import * as assert from 'uvu/assert';
import { erase } from '../../support/person.ts';
import { ACME, ROOT } from '../../support/test-app.ts';
import { webhookSuite } from '../../support/webhook-receiver.ts';

const listeners = webhookSuite('what webhooks hear');

listeners('has the pseudonym of a person who is erased before it is sent', async (context) => {
  const { app, receiver } = context;
  const { id } = await app.as(ROOT).webhooks.create({ url: receiver.url, types: ['user.created'] });
  const email = 'erased@acme.test';
  await app.as(ACME).users.create({ email });
  await app.webhookWorker.drain();
  receiver.answer = () => 500;
  await app.as(ROOT).webhooks.replay({ id, event: receiver.received[0]?.data.id ?? 0 });
  assert.match(receiver.received[0]?.body ?? '', email);
  await erase(app, email);

  await app.webhookWorker.drain();
  assert.is(receiver.received.length, 2);
  assert.not.match(receiver.received[1]?.body ?? '', email);
  assert.match(receiver.received[1]?.body ?? '', '@erased.invalid');
});

listeners.run();
