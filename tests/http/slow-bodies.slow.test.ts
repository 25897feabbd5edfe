import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { ACME, addressOf, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';

const slow = appSuite('slow bodies');

/** Sends headers, which are checked at once. The returned function sends the body, and resolves to the status. */
const beginUpload = async (app: TestApp, as: string, path: string, body: object) => {
  const headers = {
    authorization: `Token ${await app.tokenOf(as)}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(JSON.stringify(body)),
  };
  const outgoing = request(new URL(`/api/v1${path}`, await addressOf(app)), { method: 'POST', headers });
  outgoing.flushHeaders();
  // Until the service has checked the headers, and longer than it relies on that.
  await sleep(1_500);
  return async (): Promise<number> => {
    const responded = once(outgoing, 'response');
    outgoing.end(JSON.stringify(body));
    const [response] = await responded;
    response.resume();
    return response.statusCode;
  };
};

slow('do not outlast the access of a user who is deactivated while they arrive', async ({ app }) => {
  const finish = await beginUpload(app, GLOBEX, '/access_views/', { app: 'fleet' });
  await app.as(ROOT).users.deactivate({ email: GLOBEX });

  assert.is(await finish(), 401);
  assert.equal(await app.as(ROOT).accessViews.list({ app: 'fleet' }), []);
});

slow('do not outlast a role that the user loses while they arrive', async ({ app }) => {
  const finish = await beginUpload(app, ACME, '/jb/users/invitations/', { email: 'late@acme.test' });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: ACME, is_admin: false });

  assert.is(await finish(), 403);
});

slow('are accepted from users who keep their access', async ({ app }) => {
  const finish = await beginUpload(app, ROOT, '/access_views/', { app: 'fleet' });

  assert.is(await finish(), 201);
});

slow.run();
