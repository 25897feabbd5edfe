import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { reportFailure } from '../src/cli/failures.ts';
import { openDatabase as openOrm } from '../src/db/database.ts';
import { systemClock } from '../src/lib/clock.ts';
import { newToken } from '../src/lib/ids.ts';
import { createAudit, NO_ORIGIN, ofAddress } from '../src/services/audit/audit.ts';
import { tokenDigest } from '../src/services/auth/credentials.ts';
import { quantile } from './comparison/load.ts';
import { openDatabase, parseCount, startSteward, stopProcess } from './environment.ts';
import { measureCosts } from './processes.ts';

const CHECKOUT = join(import.meta.dirname, '..');
/** Each has ten of the subscribers, its admins. */
const CLIENTS = 100;
const SETTLE_MS = 2_000;

const ADD_ADMINS = `
  with added as (insert into sites (domain, name) select 'c' || n, 'c' || n from generate_series(1, $1::int) n returning id),
  tenants as (insert into clients (site_id, name) select id, 'c' || id from added returning id),
  of as (select id, row_number() over (order by id) as n from tenants),
  people as (insert into users (email, handle, profile_color, date_joined, last_password_set)
    select 'a' || n || '@bench.test', 'a' || n, '336699', now(), now() from generate_series(1, $2::int) n returning id),
  admins as (select id, row_number() over (order by id) as n from people),
  roles as (insert into memberships (client_id, user_id, is_admin)
    select of.id, admins.id, true from admins join of on of.n = 1 + admins.n % $1::int)
  insert into api_tokens (user_id, digest, created_at, last_used, authenticated_at)
  select id, ($3::text[])[n], now(), now(), now() from admins`;

const residentMb = async (pid: number): Promise<number> =>
  Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1000;

/** @returns a function that disconnects */
const subscribe = (address: string, token: string, onEvent: (sentAt: number) => void) =>
  new Promise<() => void>((resolve, reject) => {
    const headers = { authorization: `Token ${token}` };
    const request = get(`${address}/api/v1/jb/events/stream/`, { headers, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`Status ${response.statusCode}`));
      response.setEncoding('utf8').on('data', (text: string) => {
        for (const [, name] of text.matchAll(/"subject":"(\d+)"/g)) onEvent(Number(name));
      });
      response.once('data', () => resolve(() => request.destroy()));
    }).on('error', reject);
  });

type Options = { subscribers: number; rate: number; seconds: number };

const run = async ({ subscribers, rate, seconds }: Options): Promise<void> => {
  await using cleanup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'steward-bench-'));
  cleanup.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
  const { connection, client, postmaster, settings } = await openDatabase(dataDir, cleanup);
  const { child, pid, address } = await startSteward(CHECKOUT, dataDir, {
    ...settings,
    RATE_LIMIT_PER_MINUTE: '0',
  });
  cleanup.defer(() => stopProcess(child));
  const orm = await openOrm({ ...connection, poolSize: 4 });
  cleanup.defer(() => orm.close(true));
  const tokens = Array.from({ length: subscribers }, newToken);
  await client.query(ADD_ADMINS, [CLIENTS, subscribers, tokens.map(tokenDigest)]);
  const { rows } = await client.query<{ id: number }>(
    `select id from clients where name like 'c%' order by id`,
  );
  await sleep(SETTLE_MS);
  const beforeMb = await residentMb(pid);

  const committed = new Map<number, number>();
  const delays: number[] = [];
  const onEvent = (n: number): void => {
    delays.push(performance.now() - (committed.get(n) ?? performance.now()));
  };
  const opened: (() => void)[] = [];
  for (const token of tokens) opened.push(await subscribe(address, token, onEvent));
  cleanup.defer(() => {
    for (const close of opened) close();
  });
  await sleep(SETTLE_MS);
  const openMb = await residentMb(pid);

  const audit = createAudit(NO_ORIGIN, systemClock);
  const write = async (n: number): Promise<void> => {
    const clients = [rows[n % rows.length]?.id ?? 0];
    await orm.em
      .fork()
      .transactional((tx) =>
        audit.record(tx, [{ action: 'user.import', actor: null, target: ofAddress(`${n}`), clients }]),
      );
    committed.set(n, performance.now());
  };
  const work = async (): Promise<void> => {
    const start = performance.now();
    const writes: Promise<void>[] = [];
    for (let n = 0; n < rate * seconds; n += 1) {
      await sleep(Math.max(0, start + (n * 1000) / rate - performance.now()));
      writes.push(write(n));
    }
    await Promise.all(writes);
    await sleep(SETTLE_MS);
  };
  const { costs } = await measureCosts(pid, postmaster, work);
  const figures = {
    subscribers,
    'events/s': rate,
    'delivered of expected': `${delays.length} of ${(rate * seconds * subscribers) / CLIENTS}`,
    'p50 ms': Math.round(quantile(delays, 0.5)),
    'p95 ms': Math.round(quantile(delays, 0.95)),
    'max ms': Math.round(Math.max(...delays)),
    'MB before, with subscribers, after': [beforeMb, openMb, await residentMb(pid)]
      .map(Math.round)
      .join(', '),
    'CPU of the service, s': costs.serverSeconds,
    'CPU of PostgreSQL, s': costs.postgresSeconds,
  };
  console.table(figures);
};

await new Command('bench:events')
  .description('Measure streams of events: from the commit of a change to those who listen')
  .option('--subscribers <n>', 'admins of 100 clients who listen', parseCount, 1_000)
  .option('--rate <n>', 'events a second', parseCount, 200)
  .option('--seconds <n>', 'how long', parseCount, 20)
  .action(run)
  .parseAsync()
  .catch(reportFailure);
