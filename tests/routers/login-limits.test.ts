import * as assert from 'uvu/assert';
import { fieldOf } from '../support/lists.ts';
import { ADA, appSuite, DEMO_PASSWORD, GRACE, type TestApp } from '../support/test-app.ts';

const logins = appSuite('limits of logins');

const send = (app: TestApp, username: string, password: string, remoteAddress: string) => {
  const payload = { username, password };
  return app.server.inject({ method: 'POST', url: '/api/v1/api-token-auth/', payload, remoteAddress });
};

logins('check ten wrong passwords of a burst, and refuse the right one there', async ({ app }) => {
  const guesses = Array.from({ length: 30 }, () => send(app, ADA, 'wrong', '10.0.0.1'));
  const statuses = fieldOf(await Promise.all(guesses), 'statusCode');
  const refused = await send(app, ADA.toUpperCase(), DEMO_PASSWORD, '10.0.0.1');

  assert.equal(statuses.toSorted(), [...Array(10).fill(400), ...Array(20).fill(429)]);
  assert.is(refused.statusCode, 429);
  assert.match(String(refused.headers['retry-after']), /^\d+$/);
  assert.is((await send(app, ADA, DEMO_PASSWORD, '10.0.0.2')).statusCode, 200, 'from another network');
});

logins('let people in from the network of a session or token while many networks guess', async ({ app }) => {
  await send(app, GRACE, DEMO_PASSWORD, '10.0.1.1');
  await send(app, GRACE, 'wrong', '10.0.1.2');
  const ofUnknown = app.db().updateTable('rate_limits').where('key', 'like', '%:password-total:unknown');
  await ofUnknown.set({ points: 100 }).execute();

  assert.is((await send(app, GRACE, DEMO_PASSWORD, '10.0.1.3')).statusCode, 429);
  assert.is((await send(app, GRACE, DEMO_PASSWORD, '10.0.1.1')).statusCode, 200);
});

logins.run();
