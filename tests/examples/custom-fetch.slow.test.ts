import * as assert from 'uvu/assert';
import { type Timing, withCookiesOf, withRetries, withTimings } from '../../docs/examples/custom-fetch.ts';
import { createStewardClient, type Send } from '../../src/client.ts';
import { createRecordedFetch } from '../support/http-clients.ts';
import { failureOf } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  addressOf,
  appSuite,
  createInjectFetch,
  DEMO_PASSWORD,
  GRACE,
  type TestApp,
} from '../support/test-app.ts';

const customFetch = appSuite("examples of the client's fetch option");

const unavailable = () => Response.json({}, { status: 503, headers: { 'retry-after': '2' } });
const lost = () => Promise.reject(new TypeError('fetch failed'));

/** Fails with these failures in order, then passes requests on. */
const failingFirst = (app: TestApp, failures: (() => Response | Promise<Response>)[]) => {
  const send = createInjectFetch(app.server);
  const requests: string[] = [];
  const failing: Send = async (url, init) => {
    requests.push(url);
    return failures.shift()?.() ?? send(url, init);
  };
  return { failing, requests };
};

const clientOf = async (app: TestApp, fetch: Send) =>
  createStewardClient({ url: 'http://localhost:8000', token: await app.tokenOf(ACME), fetch });

customFetch('withRetries repeats a query, and waits as long as Retry-After says', async ({ app }) => {
  const waits: number[] = [];
  const { failing, requests } = failingFirst(app, [unavailable, lost]);
  const fetch = withRetries(failing, async (ms) => void waits.push(ms));
  const { api } = await clientOf(app, fetch);

  assert.is((await api.users.get.query({ email: ADA })).email, ADA);
  assert.is(requests.length, 3);
  assert.equal(waits, [2000, 500]);
});

customFetch('withRetries gives up after two retries', async ({ app }) => {
  const { failing, requests } = failingFirst(app, [lost, lost, lost]);
  const { api } = await clientOf(
    app,
    withRetries(failing, async () => {}),
  );

  await failureOf(api.users.get.query({ email: ADA }));
  assert.is(requests.length, 3);
});

customFetch('withRetries repeats a mutation only if it has an idempotency key', async ({ app }) => {
  const { failing, requests } = failingFirst(app, [lost, lost]);
  const { api } = await clientOf(
    app,
    withRetries(failing, async () => {}),
  );
  const change = { email: GRACE, last_name: 'Repeated' };

  await failureOf(api.users.update.mutate(change));
  assert.is(requests.length, 1);
  await api.users.update.mutate(change, { context: { idempotencyKey: 'repeated' } });
  assert.is(requests.length, 3);
});

customFetch('withTimings reports path, status and request id, without the query string', async ({ app }) => {
  const timings: Timing[] = [];
  const fetch = withTimings(createInjectFetch(app.server), (timing) => timings.push(timing));
  const { api } = await clientOf(app, fetch);
  await api.users.get.query({ email: ADA });

  const [timing] = timings;
  assert.is(timings.length, 1);
  assert.is(timing?.path, '/trpc/users.get');
  assert.is(timing?.status, 200);
  assert.match(timing?.requestId ?? '', /^\S+$/);
  assert.ok((timing?.ms ?? -1) >= 0);
});

customFetch('withCookiesOf makes requests as the user of the browser, changes too', async ({ app }) => {
  const url = await addressOf(app);
  const browser = createRecordedFetch();
  await createStewardClient({ url, fetch: browser.send }).loginWithSession({
    email: ACME,
    password: DEMO_PASSWORD,
  });
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
  const requests = { node: { headers: { cookie } }, fetch: new Request(url, { headers: { cookie } }) };
  for (const [last_name, request] of Object.entries(requests)) {
    const { api } = createStewardClient({ url, fetch: withCookiesOf(request, fetch) });

    assert.is((await api.sessions.current.query())?.user.email, ACME);
    assert.is((await api.users.update.mutate({ email: GRACE, last_name })).last_name, last_name);
  }
});

customFetch('withCookiesOf makes requests of a visitor without a cookie', async ({ app }) => {
  const url = await addressOf(app);
  const { api } = createStewardClient({ url, fetch: withCookiesOf(new Request(url), fetch) });

  assert.is(await api.sessions.current.query(), null);
});

customFetch.run();
