import * as assert from 'uvu/assert';
import { verifyWebhook, WebhookVerificationError } from '../../src/client/webhooks.ts';
import { suite } from '../support/suite.ts';
import { ACME, ADA, startTestApp, type TestApp } from '../support/test-app.ts';
import { type Received, type Receiver, startReceiver } from '../support/webhook-receiver.ts';

type Context = { app: TestApp; receiver: Receiver; secret: string; got: Received };

const verification = suite<Context>('verifyWebhook');

verification.before(async (context) => {
  const app = await startTestApp();
  // The verifier has no other clock.
  app.clock.advance(Date.now() - app.clock.now().getTime());
  const receiver = await startReceiver();
  Object.assign(context, { app, receiver });
  await app.renewToken(ACME);
  const { id, secret } = await app
    .as(ACME)
    .webhooks.create({ url: receiver.url, types: ['user.apps_changed'], client: 1 });
  await app.as(ACME).users.update({ email: ADA, apps: [] });
  await app.webhookWorker.drain();
  const [got] = receiver.received;
  if (!got) throw new Error('nothing was delivered');
  Object.assign(context, { secret, got });
  await app.as(ACME).webhooks.test({ id });
});
verification.after(async ({ app, receiver }) => {
  receiver.close();
  await app.close();
});

const requestOf = ({ headers, body }: Pick<Received, 'headers' | 'body'>): Request =>
  new Request('https://app.test/hook', { method: 'POST', headers, body });

verification('returns the typed event of a Fetch request', async ({ secret, got }) => {
  const message = await verifyWebhook(requestOf(got), secret);
  if (message.type !== 'user.apps_changed') return assert.unreachable();
  const revoked: string[] | undefined = message.data.data.revoked;
  assert.ok(revoked && revoked.length > 0);
  assert.is(message.data.subject, ADA);
  assert.is(message.timestamp, message.data.timestamp);
});

verification('takes what a server has read, with header names in any case', async ({ secret, got }) => {
  const headers = Object.fromEntries(
    Object.entries(got.headers).map(([name, value]) => [name.toUpperCase(), value]),
  );
  const { type } = await verifyWebhook({ headers, body: got.body }, secret);
  assert.is(type, 'user.apps_changed');
});

verification('returns the message of a test', async ({ secret, receiver }) => {
  const test = receiver.received.at(-1);
  if (!test) return assert.unreachable();
  const message = await verifyWebhook(requestOf(test), secret);
  if (message.type !== 'webhook.test') return assert.unreachable();
  assert.type(message.data.webhook, 'number');
});

verification('refuses other secrets, bodies, ids, times and missing headers', async ({ secret, got }) => {
  const old = String(Number(got.headers['webhook-timestamp']) - 600);
  const { 'webhook-signature': _, ...unsigned } = got.headers;
  for (const [headers, body, key] of [
    [got.headers, got.body, `whsec_${Buffer.alloc(32).toString('base64')}`],
    [got.headers, `${got.body} `, secret],
    [{ ...got.headers, 'webhook-id': 'evt_1' }, got.body, secret],
    [{ ...got.headers, 'webhook-timestamp': old }, got.body, secret],
    [unsigned, got.body, secret],
  ] as const) {
    const error = await verifyWebhook({ headers, body }, key).catch((refused: unknown) => refused);
    assert.instance(error, WebhookVerificationError);
  }
});

verification.run();
