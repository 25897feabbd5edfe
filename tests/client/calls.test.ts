import * as assert from 'uvu/assert';
import { LARGE_CALLS } from '../../src/client/links.ts';
import { createStewardClient, isProblem, MAX_BATCH_SIZE } from '../../src/client.ts';
import { REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { createRecordedFetch } from '../support/http-clients.ts';
import { rejectsAs } from '../support/rejects.ts';
import { rowsOf } from '../support/rows.ts';
import { ACME, ADA, addressOf, appSuite, GRACE, type TestApp } from '../support/test-app.ts';
import { fillPages, SALES } from '../support/usage.ts';

const calls = appSuite('client calls');

const clientOf = async (app: TestApp) => {
  const { send, requests } = createRecordedFetch();
  const token = await app.tokenOf(ACME);
  return { requests, steward: createStewardClient({ url: await addressOf(app), token, fetch: send }) };
};
const MIB = 1024 * 1024;

calls('are batched up to MAX_BATCH_SIZE', async ({ app }) => {
  const { steward, requests } = await clientOf(app);
  const emails = Array.from({ length: 2 * MAX_BATCH_SIZE + 1 }, () => ADA);
  const users = await Promise.all(emails.map((email) => steward.api.users.get.query({ email })));

  assert.is(users.length, emails.length);
  assert.ok(requests.length >= 3 && requests.length < 10, `${requests.length} requests`);
  assert.ok(requests.every(({ path }) => path.length < 4200));
});

calls('send a query by POST if its input is too long for a URL', async ({ app }) => {
  const { steward, requests } = await clientOf(app);
  const search = 'é'.repeat(250);
  const email = `${'é'.repeat(1000)}@x.test`;
  const [users, missing] = await Promise.allSettled([
    steward.api.users.list.query({ search }),
    steward.api.users.get.query({ email }),
  ]);

  assert.is(users.status, 'fulfilled');
  assert.ok(missing.status === 'rejected' && isProblem(missing.reason, 'not-found'));
  assert.equal(requests.map(({ method, path }) => [method, path.replace(/\?.*/, '')]).toSorted(), [
    ['GET', '/trpc/users.list'],
    ['POST', '/trpc/users.get'],
  ]);
});

calls('stream paged responses', async ({ app }) => {
  const { steward } = await clientOf(app);
  await fillPages(app, SALES);
  const pages = await Array.fromAsync(
    await steward.api.usage.listByApp.query({ app_id: SALES, window: 120 }),
  );

  assert.ok(pages.length > 1);
  assert.ok(pages.flat().every(({ timestamp }) => timestamp instanceof Date));
});

calls('are sent alone and executed once with an idempotency key', async ({ app }) => {
  const { steward, requests } = await clientOf(app);
  const record = (key: string) =>
    steward.api.usage.record.mutate(
      { app_id: SALES, entries: [{ email: ADA, action: 'KEYED' }] },
      { context: { idempotencyKey: key } },
    );
  const [first, second, other] = await Promise.all([record('one'), record('one'), record('two')]);

  for (const { inserted } of [first, second, other]) assert.is(inserted, 1);
  assert.is((await rowsOf(app, 'usage_entries', { action: 'KEYED' })).length, 2);
  assert.equal(
    requests.map(({ path, headers }) => [path, headers.get('idempotency-key')]),
    ['one', 'one', 'two'].map((key) => ['/trpc/usage.record', key]),
  );
});

calls('send If-Match for the option ifMatch', async ({ app }) => {
  const { steward, requests } = await clientOf(app);
  const update = { email: GRACE, last_name: 'Matched' };
  await Promise.allSettled([
    steward.api.users.update.mutate(update, { context: { ifMatch: '"tag"' } }),
    steward.api.users.get.query({ email: GRACE }),
  ]);

  assert.equal(requests.map(({ headers }) => headers.get('if-match')).sort(), ['"tag"', null].sort());
});

calls('are sent alone if their input is large', async ({ app }) => {
  const { steward } = await clientOf(app);
  const extra = { text: 'x'.repeat(50_000) };
  const items = Array.from({ length: 40 }, (_, n) => ({ email: `large${n}@x.test`, extra }));
  const [, created] = await Promise.all([
    steward.api.users.update.mutate({ email: GRACE, last_name: 'Beside' }),
    steward.api.invitations.create.mutate({ items }),
  ]);
  const large = REST_ENDPOINTS.filter(({ rest }) => (rest.maxBodyBytes ?? 0) > MIB);

  assert.is(created.length, 40);
  assert.equal(large.map(({ procedure }) => procedure).sort(), [...LARGE_CALLS].sort());
});

calls('fail with a problem code if they are rejected before they reach a procedure', async ({ app }) => {
  const { steward } = await clientOf(app);
  const first_name = 'x'.repeat(1.1 * MIB);

  const update = steward.api.users.update.mutate({ email: ADA, first_name });
  const error = await rejectsAs(update, 'body-too-large');

  assert.is(error.data.httpStatus, 413);
  assert.is(error.message, 'The request body exceeds the limit of this path.');
});

calls('need a URL with a scheme, and the error says so without repeating it', async ({ app }) => {
  const message = '`url` has no scheme: start it with http:// or https://, as in http://localhost:8000.';
  for (const url of [
    'localhost:8521',
    'steward.example.com',
    'admin:pw@steward.example.com',
    'ftp://a',
    'http://',
  ])
    assert.throws(
      () => createStewardClient({ url }),
      (error: unknown) => error instanceof TypeError && error.message === message,
    );

  const steward = createStewardClient({ url: `${await addressOf(app)}/`, token: await app.tokenOf(ADA) });
  assert.is((await steward.api.sites.list.query()).length, 1);
  createStewardClient({ url: '/steward' });
});

calls.run();
