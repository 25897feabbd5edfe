import pg from 'pg';
import * as assert from 'uvu/assert';
import { busySessions } from '../support/database-sessions.ts';
import { ACME, ADA, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { CHURN } from '../support/usage.ts';

/** The time limit is 10 s; the rest allows for a busy machine. */
const MAX_MS = 18_000;
const AT_ONCE = 25;

const limit = appSuite('time limit of requests', {}, { timeLimitMs: 10_000 });

/** Locks the table of users until the callback has ended. */
const whileLocked = async <T>({ connection }: TestApp, work: () => Promise<T>): Promise<T> => {
  const locker = new pg.Client(connection);
  await locker.connect();
  try {
    await locker.query('begin; lock table users in access exclusive mode');
    return await work();
  } finally {
    await locker.end();
  }
};

limit('ends reads and writes in every stage while the table of users is locked', async ({ app }) => {
  const { send } = app;
  for (const as of [ROOT, ACME, ADA]) await app.tokenOf(as);
  const requests = [
    ...Array.from({ length: AT_ONCE }, () => ['GET /jb/users/ada@acme.test/', ROOT] as const),
    ...Array.from({ length: AT_ONCE }, () => ['GET /jb/users/', ACME] as const),
    ...Array.from({ length: AT_ONCE }, () => ['PATCH /jb/users/ada@acme.test/', ACME] as const),
    ['GET !/trpc/users.list?input=%7B%22json%22%3A%7B%7D%7D', ROOT],
  ] as const;
  const responses = await whileLocked(app, () =>
    Promise.all(
      requests.map(async ([line, as]) => {
        const started = performance.now();
        const response = await send(line, {
          as,
          ...(line.startsWith('PATCH') && { payload: { first_name: 'X' } }),
        });
        return { status: response.statusCode, ms: performance.now() - started, headers: response.headers };
      }),
    ),
  );
  const slowest = Math.max(...responses.map(({ ms }) => ms));
  console.log(`\n# ${responses.length} requests, the slowest took ${Math.round(slowest)} ms`);

  assert.equal([...new Set(responses.map(({ status }) => status))], [503]);
  assert.ok(responses.every(({ headers }) => Number(headers['retry-after']) > 0));
  assert.ok(slowest < MAX_MS, `${Math.round(slowest)} ms`);
  assert.is((await send('GET /jb/users/', { as: ROOT })).statusCode, 200);
  await until('no session is left at work', async () => (await busySessions(app)) === 0);
});

const SHORT_MS = 1_000;
const repeats = appSuite('repeats of a slow request', {}, { timeLimitMs: SHORT_MS });

/** The status of a request, which is sent again if it took too long: this process may have stood still. */
const statusOf = async (send: () => ReturnType<TestApp['send']>, tries = 5): Promise<number> => {
  const started = performance.now();
  const { statusCode } = await send();
  const isLate = performance.now() - started >= SHORT_MS;
  return isLate && tries > 1 ? statusOf(send, tries - 1) : statusCode;
};

repeats('leave all connections free, ten times in a row', async ({ app }) => {
  const { send } = app;
  const { pool } = app.orm;
  await send('GET /jb/users/', { as: ACME });
  const payload = { emails: [ADA], action: 'grant-apps', apps: [CHURN] };
  for (let round = 0; round < 10; round += 1) {
    const locker = app.orm.em.fork();
    await locker.begin();
    await locker.execute(`select from users where email = '${ADA}' for update`);
    const headers = { 'idempotency-key': `round-${round}` };
    const request = () => send('POST /jb/users/bulk/', { as: ACME, payload, headers });
    const responses = await Promise.all(Array.from({ length: 15 }, request));
    assert.equal([...new Set(responses.map(({ statusCode }) => statusCode))], [503]);
    await locker.rollback();

    await until('all are free', () => pool.idleCount === pool.totalCount && pool.waitingCount === 0);
    assert.is(await statusOf(() => send('GET !/readyz')), 200);
    assert.is(await statusOf(() => send('GET /jb/sites/', { as: ACME })), 200);
    assert.is(await statusOf(request), 200, 'the request can be repeated');
  }
});

limit.run();
repeats.run();
