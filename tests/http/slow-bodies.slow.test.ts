import { once } from 'node:events';
import { request } from 'node:http';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { rowsOf } from '../support/rows.ts';
import { ACME, addressOf, appSuite, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { passTime, until } from '../support/time.ts';

const slow = appSuite('slow bodies');

/** How long the service relies on the check of the headers, and a bit more. */
const MAX_LOOKUP_AGE_MS = 1_100;

/** Sends headers, which are checked at once. The returned function sends the body, and resolves to the status. */
const beginUpload = async (app: TestApp, as: string, path: string, body: object) => {
  const headers = {
    authorization: `Token ${await app.tokenOf(as)}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(JSON.stringify(body)),
  };
  const outgoing = request(new URL(`/api/v1${path}`, await addressOf(app)), { method: 'POST', headers });
  app.clock.advance(2 * MINUTE_MS);
  outgoing.flushHeaders();
  // The use of a token is recorded once a minute.
  await until('the service has looked up the token', async () => {
    return (await rowsOf(app, 'api_tokens', { last_used: app.clock.now() })).length > 0;
  });
  passTime(MAX_LOOKUP_AGE_MS);
  return async (): Promise<number> => {
    const responded = once(outgoing, 'response');
    outgoing.end(JSON.stringify(body));
    const [response] = await responded;
    response.resume();
    return response.statusCode;
  };
};

slow('do not outlast the access of a user who is deactivated while they arrive', async ({ app }) => {
  const kept = await beginUpload(app, GLOBEX, '/access_views/', { app: 'fleet' });
  assert.is(await kept(), 201);
  const ended = await beginUpload(app, GLOBEX, '/access_views/', { app: 'fleet' });
  await app.as(ROOT).users.deactivate({ email: GLOBEX });

  assert.is(await ended(), 401);
  assert.is((await app.as(ROOT).accessViews.list({ app: 'fleet' })).length, 1);
});

slow('do not outlast a role that the user loses while they arrive', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: true });
  const finish = await beginUpload(app, ACME, '/jb/users/invitations/', { email: 'late@acme.test' });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: ACME, is_admin: false });

  assert.is(await finish(), 403);
});

slow.run();
