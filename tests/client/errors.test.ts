import { createServer, type RequestListener } from 'node:http';
import * as assert from 'uvu/assert';
import {
  createStewardClient,
  fieldErrors,
  isForeignAnswer,
  isProblem,
  isUnreachable,
  requestId,
  retryAfterSeconds,
  type StewardClient,
} from '../../src/client.ts';
import { createRecordedFetch } from '../support/http-clients.ts';
import { failureOf, rejectsAs } from '../support/rejects.ts';
import { ACME, ADA, addressOf, appSuite, DEMO_PASSWORD, EDSGER, ROOT } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const errors = appSuite('client errors');

/** The errors of a query, a mutation and a stream against a server with this handler. */
const failuresAt = async (handler: RequestListener): Promise<unknown[]> => {
  const server = createServer(handler);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
  const { api } = createStewardClient({ url });
  try {
    const stream = api.usage.listByApp.query({ app_id: SALES }).then((pages) => Array.fromAsync(pages));
    return await Promise.all([api.sites.list.query(), api.sessions.end.mutate(), stream].map(failureOf));
  } finally {
    server.closeAllConnections();
    server.close();
  }
};

const kindsOf = (error: unknown) => [isProblem(error), isUnreachable(error), isForeignAnswer(error)];

errors('of Steward have a code, a message, and field errors by path', async ({ app }) => {
  const { api } = createStewardClient({ url: await addressOf(app), token: await app.tokenOf(ACME) });
  const taken = await rejectsAs(api.users.create.mutate({ email: ADA }), 'user-exists');
  const bulk = await failureOf(
    api.invitations.create.mutate({
      items: [{ email: 'a@b.test' }, { email: 'bad', initial_apps: ['x'] }],
    }),
  );
  const missing = await failureOf(api.users.get.query({ email: 'unknown@acme.test' }));

  assert.equal(Object.keys(fieldErrors(taken)), ['email']);
  assert.is(taken.message, 'A user with this email address already exists.');
  assert.equal(Object.keys(fieldErrors(bulk)), ['items.1.email', 'items.1.initial_apps.0']);
  assert.equal([isProblem(missing), isProblem(missing, 'not-found', 'forbidden')], [true, true]);
  assert.is(isProblem(missing, 'user-exists'), false);
  assert.equal(fieldErrors(missing), {});
});

errors('have a message for people when the login has ended', async ({ app }) => {
  const url = await addressOf(app);
  const browser = createRecordedFetch();
  const inBrowser = createStewardClient({ url, fetch: browser.send });
  await inBrowser.loginWithSession({ email: EDSGER, password: DEMO_PASSWORD });
  const withToken = createStewardClient({ url, token: await app.tokenOf(EDSGER) });
  await app.as(ROOT).sessions.revokeAll({ email: EDSGER });
  const messageOf = async ({ api }: StewardClient) =>
    (await rejectsAs(api.sites.list.query(), 'unauthenticated')).message;

  assert.is(await messageOf(inBrowser), 'The session is invalid or expired. Log in again.');
  assert.is(await messageOf(withToken), 'Your login has ended. Log in again.');
  await inBrowser.logout();
  browser.cookies.clear();
  assert.is(await messageOf(inBrowser), 'You are not logged in. Log in to continue.');
});

errors('have retryAfterSeconds for throttled logins', async ({ app }) => {
  const steward = createStewardClient({ url: await addressOf(app) });
  const attempt = () => failureOf(steward.login({ email: 'guessed@acme.test', password: 'wrong' }));
  for (let n = 0; n < 10; n += 1) await attempt();
  const error = await attempt();

  assert.ok(isProblem(error, 'throttled'));
  assert.ok((retryAfterSeconds(error) ?? 0) > 60);
  assert.is(retryAfterSeconds(new Error('another')), undefined);
});

errors('have the ID of the request', async ({ app }) => {
  const ids: (string | null)[] = [];
  const { api } = createStewardClient({
    url: await addressOf(app),
    token: await app.tokenOf(ADA),
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      ids.push(response.headers.get('x-request-id'));
      return response;
    },
  });
  const single = await failureOf(api.users.get.query({ email: 'unknown@acme.test' }));
  const [, batched] = await Promise.all([
    api.sites.list.query(),
    failureOf(api.users.get.query({ email: 'unknown@acme.test' })),
  ]);
  const early = await failureOf(api.tokens.createNamed.mutate({ name: 'x'.repeat(2 ** 20) }));

  assert.equal([single, batched, early].map(requestId), ids);
  assert.match(ids.join(), /^[0-9a-f-]{36},[0-9a-f-]{36},[0-9a-f-]{36}$/);
  assert.is(requestId(new Error('another')), undefined);
});

errors('are unreachable after a failure of the network, not problems or foreign responses', async () => {
  const lost = await failuresAt((request) => request.socket.destroy());
  const halfWay = await failuresAt((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"json":{"0":[[0],[null,0,0]]}}\n[', () => response.destroy());
  });

  for (const error of [...lost, ...halfWay])
    assert.equal(kindsOf(error), [false, true, false], String(error));
});

errors('are foreign responses if a proxy has answered, not problems', async () => {
  const responses: [status: number, type: string, body: string][] = [
    [502, 'text/html', '<h1>Bad gateway</h1>'],
    [503, 'application/json', '{"error":"upstream"}'],
    [401, 'application/json', '{"type":"about:blank","detail":"x","status":401}'],
    [200, 'text/html', '<form>Log in to the wifi</form>'],
    [200, 'application/json', '{"hello":"world"}'],
    [200, 'application/json', 'nonsense\n'],
    [200, 'application/json', '{"two":"lines"}\n{}\n'],
  ];
  for (const [status, type, body] of responses) {
    const received = await failuresAt((_request, response) => {
      response.writeHead(status, { 'content-type': type }).end(body);
    });
    for (const error of received) assert.equal(kindsOf(error), [false, false, true], `${body}: ${error}`);
  }
});

errors('are neither problems nor network errors after aborted calls and bugs', async ({ app }) => {
  const { api } = createStewardClient({ url: await addressOf(app) });
  const abort = new AbortController();
  const call = failureOf(api.environment.read.query(undefined, { signal: abort.signal }));
  abort.abort();

  assert.equal(kindsOf(await call), [false, false, false]);
  assert.equal(kindsOf(new TypeError('a bug')), [false, false, false]);
  assert.equal(kindsOf(null), [false, false, false]);
});

errors.run();
