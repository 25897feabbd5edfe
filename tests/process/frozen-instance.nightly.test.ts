import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { type Service, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { until } from '../support/time.ts';
import { SALES } from '../support/usage.ts';

const PASSWORD = 'steward-demo-1';
const STAFF = 'staff@steward.test';
const WRITERS = 6;
const BATCH = 40;
/** Twice the time after which PostgreSQL ends a session that is idle in a transaction. */
const PATIENCE_MS = 40_000;

type Context = {
  database: Awaited<ReturnType<typeof startExternalDatabase>>;
  observer: Client;
  frozen: Service;
  other: Service;
  token: string;
};

const frozen = suite<Context>('a frozen instance');

frozen.before(async (context) => {
  context.database = await startExternalDatabase();
  const { settings, connection } = await context.database.makeDatabase();
  context.frozen = await startService('demo', settings);
  context.other = await startService('serve', settings);
  context.token = (await context.other.logIn(STAFF, PASSWORD)).token;
  context.observer = new Client(connection);
  await context.observer.connect();
});
frozen.after(async ({ database, observer, frozen: first, other }) => {
  process.kill(first.pid, 'SIGCONT');
  await observer.end();
  await first[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const record = (service: Service, token: string) =>
  service.send(`POST /jb/apps/${SALES}/usage/`, {
    token,
    body: Array.from({ length: BATCH }, (_, n) => ({ email: `u${n % 7}@x.test`, action: 'X' })),
  });

/** Writes usage through the service until the test stops it; resolves with the statuses of all responses. */
const load = ({ token }: Context, service: Service) => {
  const statuses: number[] = [];
  let isOver = false;
  const write = async (): Promise<void> => {
    while (!isOver) statuses.push((await record(service, token)).status);
  };
  const writing = Promise.all(Array.from({ length: WRITERS }, write));
  writing.catch(() => {}); // `stop` throws it
  return {
    statuses,
    stop: async (): Promise<number[]> => {
      isOver = true;
      await writing;
      return [...new Set(statuses)].sort();
    },
  };
};

/** Sessions that hold an advisory lock and wait for their client. */
const idleHolders = async ({ observer }: Context): Promise<number> => {
  const { rows } = await observer.query(`
    select count(distinct pid)::int as count from pg_locks join pg_stat_activity using (pid)
    where locktype = 'advisory' and granted and state = 'idle in transaction'`);
  return rows[0].count;
};

const freeze = async ({ frozen: service }: Context): Promise<void> => {
  await sleep(Math.random() * 50);
  process.kill(service.pid, 'SIGSTOP');
  // The statements that it has already sent are completed.
  await sleep(200);
};

frozen('blocks other instances for seconds at most, and recovers when it continues', async (context) => {
  const { frozen: service, other, token } = context;
  const writing = load(context, service);
  await until('it is frozen with the lock of the app', async () => {
    await freeze(context);
    if ((await idleHolders(context)) > 0) return true;
    process.kill(service.pid, 'SIGCONT');
    return false;
  });

  const others: number[] = [];
  const started = performance.now();
  await until(
    'another instance gets through',
    async () => {
      const answer = await record(other, token);
      if (answer.status === 503) assert.ok(Number(answer.headers.get('retry-after')) > 0, answer.text);
      others.push(answer.status);
      return answer.status === 201;
    },
    PATIENCE_MS,
  );
  console.log(
    `# others got through after ${Math.round(performance.now() - started)} ms: ${others.join(' ')}`,
  );
  process.kill(service.pid, 'SIGCONT');
  const before = writing.statuses.length;
  await until('it works again', () => writing.statuses.slice(before + WRITERS).includes(201), PATIENCE_MS);
  const statuses = await writing.stop();

  assert.equal(
    others.filter((status) => status !== 201 && status !== 503),
    [],
  );
  assert.equal(
    statuses.filter((status) => status !== 201 && status !== 503),
    [],
  );
  assert.not.match(service.output.stdout, 'unhandled rejection');
  assert.is(service.output.stderr, '');
});

frozen.run();
