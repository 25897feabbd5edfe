import pg from 'pg';
import * as assert from 'uvu/assert';
import { busySessions } from '../support/database-sessions.ts';
import { startLogged } from '../support/logged-app.ts';
import { ACME, ADA, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { CHURN } from '../support/usage.ts';

const AT_ONCE = 15;
const limit = appSuite('time limit of requests', {}, { timeLimitMs: 1_000 });

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

const untilFree = ({ orm: { pool } }: TestApp): Promise<void> =>
  until('all connections are free', () => pool.idleCount === pool.totalCount && pool.waitingCount === 0);

limit('ends reads and writes in every stage while the table of users is locked', async ({ app }) => {
  for (const as of [ROOT, ACME]) await app.tokenOf(as);
  const requests = [
    ...Array.from({ length: AT_ONCE }, () => ['GET /jb/users/ada@acme.test/', ROOT] as const),
    ...Array.from({ length: AT_ONCE }, () => ['GET /jb/users/', ACME] as const),
    ...Array.from({ length: AT_ONCE }, () => ['PATCH /jb/users/ada@acme.test/', ACME] as const),
    ['GET !/trpc/users.list?input=%7B%22json%22%3A%7B%7D%7D', ROOT],
  ] as const;
  const responses = await whileLocked(app, () =>
    Promise.all(
      requests.map(([line, as]) =>
        app.send(line, { as, ...(line.startsWith('PATCH') && { payload: { first_name: 'X' } }) }),
      ),
    ),
  );

  assert.equal([...new Set(responses.map(({ statusCode }) => statusCode))], [503]);
  assert.ok(responses.every(({ headers }) => Number(headers['retry-after']) > 0));
  await until('no session is left at work', async () => (await busySessions(app)) === 0);
  await untilFree(app);
});

limit('leaves all connections free after repeats of a slow request, then possible', async ({ app }) => {
  const payload = { emails: [ADA], action: 'grant-apps', apps: [CHURN] };
  const headers = { 'idempotency-key': 'slow', authorization: `Token ${await app.tokenOf(ACME)}` };
  const request = { method: 'POST', url: '/api/v1/jb/users/bulk/', headers, payload } as const;
  for (let round = 0; round < 2; round += 1) {
    const locker = app.orm.em.fork();
    await locker.begin();
    await locker.execute(`select from users where email = '${ADA}' for update`);
    const responses = await Promise.all(Array.from({ length: AT_ONCE }, () => app.server.inject(request)));
    assert.equal([...new Set(responses.map(({ statusCode }) => statusCode))], [503]);
    await locker.rollback();
    await untilFree(app);
  }
  const { logged: patient } = await startLogged(app);
  try {
    assert.is((await patient.server.inject(request)).statusCode, 200);
  } finally {
    await patient.close();
  }
});

limit.run();
