import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { administer } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const readOnly = appSuite('a read-only database');
const WRITABLE = 'set default_transaction_read_only = off';

/** Ends all database sessions, so that new ones have the new setting. */
const setReadOnly = async ({ connection }: TestApp, isReadOnly: boolean): Promise<void> =>
  administer(
    connection,
    WRITABLE,
    `alter database ${connection.database} set default_transaction_read_only = ${isReadOnly}`,
    ...(isReadOnly
      ? [
          `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`,
        ]
      : []),
  );

const WRITES: [line: string, as: string, payload: object][] = [
  ['POST /jb/users/', ROOT, { email: 'new@acme.test', client: 1, apps: [] }],
  [`PATCH /jb/users/${ADA}/`, ACME, { first_name: 'Ada' }],
  [`PATCH /jb/users/${ADA}/`, ROOT, { is_active: false }],
  ['POST /jb/apps/zylTKNVx/usage/', STAFF, { email: ADA, action: 'STACK_ACCESS' }],
  ['POST /jb/users/invitations/', ROOT, { email: 'invited@acme.test', client: 1, initial_apps: [] }],
  ['POST /password/request-reset/', '', { email: ADA }],
];

readOnly.before(async ({ app }) => {
  // The last use of a token is recorded once a minute, which is a write.
  for (const as of [ROOT, ACME, STAFF]) await app.send('GET /jb/sites/', { as });
  await setReadOnly(app, true);
  const pool = app.orm.pool;
  await until('the pool has noticed', () => pool.totalCount === 0);
});

readOnly('makes writes fail with 503 and Retry-After', async ({ app }) => {
  for (const headers of [{}, { 'idempotency-key': 'a-key-of-this-test' }])
    for (const [line, as, payload] of WRITES) {
      const response = await app.send(line, { ...(as && { as }), payload, headers });

      assert.is(response.statusCode, 503, `${line} ${response.body}`);
      assert.is(response.json().type, 'urn:steward:problem:database-unavailable');
      assert.match(response.json().detail, /read-only/, line);
      assert.ok(Number(response.headers['retry-after']) > 0);
    }
});

readOnly('makes /readyz fail, while reads still work', async ({ app }) => {
  assert.is((await app.send('GET !/readyz')).statusCode, 503);
  assert.is((await app.send('GET !/healthz')).statusCode, 200);
  assert.is((await app.send('GET /jb/users/', { as: ROOT })).statusCode, 200);
});

readOnly('accepts writes again as soon as it is writable', async ({ app }) => {
  const reads = Array.from({ length: 10 }, () => app.send('GET /jb/users/', { as: ROOT }));
  for (const response of await Promise.all(reads)) assert.is(response.statusCode, 200);
  await setReadOnly(app, false);

  const writes = WRITES.map(([line, as, payload]) => app.send(line, { ...(as && { as }), payload }));
  for (const response of await Promise.all(writes)) assert.ok(response.statusCode < 300, response.body);
  assert.is((await app.send('GET !/readyz')).statusCode, 200);
});

readOnly.run();
