import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import type { Client } from 'pg';
import { tokenDigest } from '../src/services/auth/credentials.ts';
import {
  defaultPlan,
  describeMachine,
  parseCount,
  printLine,
  reportBenchFailure,
  withCleanup,
  writeTables,
} from './command.ts';
import { generateLoad, type LoadResult, median } from './comparison/load.ts';
import { type HttpRequest, rest } from './comparison/requests.ts';
import { takeSamples } from './comparison/samples.ts';
import { getUser } from './comparison/scenarios.ts';
import { openEnvironment } from './environment.ts';

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 4;
const PEOPLE = 1_000;

/** Requests to apps, of people who may open them, each with their own token. */
const gateRequests = async (database: Client): Promise<HttpRequest[]> => {
  const { rows } = await database.query<{ id: number; slug: string }>(
    `select u.id, min(a.slug) as slug from users u join app_grants g on g.user_id = u.id join apps a on a.id = g.app_id
    where u.is_active group by u.id order by md5(u.email) limit $1`,
    [PEOPLE],
  );
  const people = rows.map((row) => ({ ...row, token: randomBytes(20).toString('hex') }));
  await database.query(
    `insert into api_tokens (user_id, digest, created_at, last_used)
    select *, now(), now() from unnest($1::int[], $2::varchar[])`,
    [people.map(({ id }) => id), people.map(({ token }) => tokenDigest(token))],
  );
  return people.map(({ slug, token }) => ({
    path: `/gate/${slug}/`,
    headers: { authorization: `Token ${token}` },
  }));
};

type Options = { data?: string; rounds: number; seconds: number; write?: true };

const compare = async (
  { data, rounds, seconds, write }: Options,
  cleanup: AsyncDisposableStack,
): Promise<void> => {
  const plan = defaultPlan();
  const { service, token, database } = await openEnvironment(
    { dataDir: data, plan, nodeOptions: '' },
    cleanup,
  );
  const { members } = await takeSamples(database);
  const kinds = {
    one: members.map(({ email }) => rest.build([getUser(email)], token)),
    gate: await gateRequests(database),
  };
  const results: Record<keyof typeof kinds, LoadResult[]> = { one: [], gate: [] };
  for (let round = 0; round <= rounds; round += 1) {
    for (const kind of ['one', 'gate'] as const) {
      const load = {
        url: new URL(service.address).origin,
        requests: kinds[kind],
        connections: CONNECTIONS,
        offset: round * 101,
      };
      const result = await generateLoad({ ...load, seconds: round === 0 ? WARM_UP_SECONDS : seconds });
      if (round > 0) results[kind].push(result);
    }
  }
  const [one, gate] = [summaryOf(results.one), summaryOf(results.gate)];
  const lines = [
    `${describeMachine()} Rounds: ${rounds} of ${seconds} s.`,
    '',
    `| request, ${CONNECTIONS} connections | per second | p50 ms | p99 ms |`,
    '| --- | --- | --- | --- |',
    `| one user | ${one.rate.toFixed(0)} | ${one.p50.toFixed(1)} | ${one.p99.toFixed(1)} |`,
    `| forward authentication | ${gate.rate.toFixed(0)} | ${gate.p50.toFixed(1)} | ${gate.p99.toFixed(1)} |`,
    '',
    `Rate: ${(gate.rate / one.rate).toFixed(2)} of one user. p99: ${(gate.p99 / one.p99).toFixed(2)} times.`,
  ];
  printLine(lines.join('\n'));
  if (write) await writeTables(lines, 'npm run bench:gate');
};

const summaryOf = (results: readonly LoadResult[]) => ({
  rate: median(results.map(({ responses, seconds }) => responses / seconds)),
  p50: median(results.map(({ p50 }) => p50)),
  p99: median(results.map(({ p99 }) => p99)),
});

await new Command('bench:gate')
  .description('Compare forward authentication with reading one user')
  .option('--data <folder>', 'data folder, filled if necessary and reused')
  .option('--rounds <count>', 'rounds of both', parseCount, 5)
  .option('--seconds <count>', 'seconds per measurement', parseCount, 5)
  .option('--write', 'write the table into docs/benchmarks.md')
  .action((options: Options) => withCleanup((cleanup) => compare(options, cleanup)))
  .parseAsync()
  .catch(reportBenchFailure);
