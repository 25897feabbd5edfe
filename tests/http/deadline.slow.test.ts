import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import * as assert from 'uvu/assert';
import { Deadline, withDeadline } from '../../src/lib/deadline.ts';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { appSuite } from '../support/app-suite.ts';
import { busySessions } from '../support/busy-sessions.ts';
import { until } from '../support/poll.ts';
import { ACME, ADA, ROOT, STAFF } from '../support/test-app.ts';
import { NOON } from '../support/test-clock.ts';
import { collectPages, logEntry, SALES } from '../support/usage.ts';

/** The deadline is 10 s; the rest allows for a busy machine. */
const MAX_MS = 18_000;
const AT_ONCE = 25;

const deadline = appSuite('request deadline', {}, { requestDeadlineMs: 10_000 });

deadline('ends reads and writes in every stage while the table of users is locked', async ({ app }) => {
  const { send, connection } = app;
  for (const as of [ROOT, ACME, ADA]) await app.tokenOf(as);
  const locker = new pg.Client(connection);
  await locker.connect();
  await locker.query('begin; lock table users in access exclusive mode');

  const requests = [
    ...Array.from({ length: AT_ONCE }, () => ['GET /jb/users/ada@acme.test/', ROOT] as const),
    ...Array.from({ length: AT_ONCE }, () => ['GET /jb/users/', ACME] as const),
    ...Array.from({ length: AT_ONCE }, () => ['PATCH /jb/users/ada@acme.test/', ACME] as const),
    ['GET !/trpc/users.list?input=%7B%22json%22%3A%7B%7D%7D', ROOT],
  ] as const;
  const responses = await Promise.all(
    requests.map(async ([line, as]) => {
      const started = performance.now();
      const response = await send(line, {
        as,
        ...(line.startsWith('PATCH') && { payload: { first_name: 'X' } }),
      });
      return { status: response.statusCode, ms: performance.now() - started, headers: response.headers };
    }),
  );
  await locker.query('rollback');
  await locker.end();
  const slowest = Math.max(...responses.map(({ ms }) => ms));
  console.log(`\n# ${responses.length} requests, the slowest took ${Math.round(slowest)} ms`);

  assert.equal([...new Set(responses.map(({ status }) => status))], [503]);
  assert.ok(responses.every(({ headers }) => Number(headers['retry-after']) > 0));
  assert.ok(slowest < MAX_MS, `${Math.round(slowest)} ms`);
  assert.is((await send('GET /jb/users/', { as: ROOT })).statusCode, 200);
  await until('no session is left at work', async () => (await busySessions(app)) === 0);
});

deadline('does not end the stream of a slow reader', async ({ app }) => {
  const entries = Array.from({ length: 3_000 }, (_, n) => logEntry(n % 20));
  await writeUsage(app.orm.em.fork(), SALES, entries, NOON);
  const limit = new Deadline(5_000);
  const pages = await withDeadline(limit, () => app.as(STAFF).usage.listByApp({ app_id: SALES, window: 30 }));
  const iterator = pages[Symbol.asyncIterator]();
  await iterator.next();
  await sleep(limit.remainingMs === Number.POSITIVE_INFINITY ? 0 : limit.remainingMs + 10);

  const rest = await withDeadline(limit, () =>
    collectPages({ [Symbol.asyncIterator]: () => iterator } as never),
  );
  assert.ok(rest.length > 0);
});

deadline.run();
