import { createTRPCClient, httpBatchLink } from '@trpc/client';
import * as assert from 'uvu/assert';
import { type AppRouter, transformer } from '../../src/client.ts';
import { ACME, ADA, appSuite, ROOT, STAFF } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

/** As databases number tenants: a double represents 1546130668394913800 instead. */
const ID = '1546130668394913822';
const EXTRA = `{"tenant":${ID},"regions":[-${ID}]}`;

const integers = appSuite('integers of 64 bits in free-form data');

integers(
  'come back over REST with every digit, as an object, in a list, as CSV and in a page',
  async ({ app }) => {
    const payload = `{"extra":${EXTRA}}`;
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'exact' };
    const changed = await app.send(`PATCH /jb/users/${ADA}/`, { as: ACME, payload, headers });
    const repeated = await app.send(`PATCH /jb/users/${ADA}/`, { as: ACME, payload, headers });
    const read = await app.send(`GET /jb/users/${ADA}/`, { as: ACME });
    const list = await app.send('GET /jb/users/', { as: ACME });
    const csv = await app.send('GET /jb/users/?format=csv', { as: ACME });
    const page = await app.send(`GET /jb/users/${ADA}/?format=html`, { as: ACME });

    assert.is(changed.statusCode, 200, changed.body);
    for (const { body } of [changed, repeated, read, list])
      assert.ok(body.includes(`"extra":${EXTRA}`), body);
    assert.ok(csv.body.includes(`""tenant"":${ID}`));
    assert.ok(page.body.includes(`>${ID}<`));
  },
);

integers('are bigints over tRPC', async ({ app }) => {
  await app.server.listen({ port: 0, host: '127.0.0.1' });
  const headers = { authorization: `Token ${await app.tokenOf(ACME)}` };
  const url = `${app.server.listeningOrigin}/trpc`;
  const client = createTRPCClient<AppRouter>({ links: [httpBatchLink({ url, transformer, headers })] });
  const extra = { tenant: BigInt(ID), small: 1 };

  await client.users.update.mutate({ email: ADA, extra });

  assert.equal((await client.users.get.query({ email: ADA })).extra, extra);
  const users = await client.users.list.query({});
  assert.equal(users.find(({ email }) => email === ADA)?.extra, extra);
  const { body } = await app.send(`GET /jb/users/${ADA}/`, { as: ACME });
  assert.ok(body.includes(`"tenant":${ID}`), body);
});

integers('are kept in the usage log', async ({ app }) => {
  const headers = { 'content-type': 'application/json' };
  const payload = `{"email":"${ADA}","action":"EXACT","extra":${EXTRA}}`;
  const sent = await app.send(`POST /jb/apps/${SALES}/usage/`, { as: STAFF, payload, headers });
  const { body } = await app.send(`GET /jb/apps/${SALES}/usage/?window=1`, { as: ROOT });

  assert.is(sent.statusCode, 201, sent.body);
  assert.ok(body.includes(EXTRA), body);
});

integers('are an error elsewhere, that says what the field must be', async ({ app }) => {
  const headers = { 'content-type': 'application/json' };
  const payload = `{"password_expiration_days":${ID}}`;
  const { statusCode, body } = await app.send('PATCH /jb/clients/1/', { as: ROOT, payload, headers });

  assert.is(statusCode, 400);
  assert.match(body, 'Must be');
});

integers.run();
