import { Command, InvalidArgumentError } from 'commander';
import { Client } from 'pg';
import { reportFailure } from '../src/cli/failures.ts';
import { readConfig } from '../src/config/config.ts';
import type { Connection } from '../src/config/connection.ts';
import { withDatabaseHost } from '../src/server/database-host.ts';
import { lastMidnight } from './command.ts';
import { DatabaseNotEmpty, fillDatabase } from './data/fill.ts';
import { InvalidPlan, type Plan } from './data/plan.ts';

const APPS_PER_CLIENT = 10;

const HELP = `
Fills the database of DATABASE_URL, or else the embedded one under DATA_DIR. The database must be empty.
root@bench.test, staff@bench.test and admin@client-1.test can log in with the password steward-bench-1.`;

const parseCount = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Expected an integer.');
  return Number(text);
};

const parseTime = (text: string): Date => {
  const instant = new Date(text);
  if (Number.isNaN(instant.getTime())) throw new InvalidArgumentError('Expected a date or time.');
  return instant;
};

type Options = Omit<Plan, 'clients'> & { clients?: number };

const fill = async ({ clients, ...options }: Options): Promise<void> => {
  const plan = { ...options, clients: clients ?? Math.ceil(options.apps / APPS_PER_CLIENT) };
  const started = performance.now();
  const lines = await withDatabaseHost(readConfig(process.env), async ({ connection }) => {
    await fillDatabase(connection, plan);
    return describeDatabase(connection);
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write([...lines, `Filled in ${seconds} s.`, ''].join('\n'));
};

/** Expected errors print their message; all others are reported like those of `steward`. */
const reportDataFailure = (error: unknown): void => {
  if (error instanceof InvalidPlan || error instanceof DatabaseNotEmpty) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else reportFailure(error);
};

/** Counts are bigint, which `pg` returns as strings. */
type TableSize = { name: string; bytes: string };
type AppSize = { slug: string; id: string; users: string; actions30: string };

/** Partitions count towards their table. */
const TABLES = `
  select coalesce(parent.relname, part.relname) as name, sum(pg_total_relation_size(part.oid)) as bytes
  from pg_class part
  left join pg_inherits on inhrelid = part.oid
  left join pg_class parent on parent.oid = inhparent
  where part.relkind = 'r' and part.relnamespace = current_schema()::regnamespace
  group by 1 order by 2 desc`;

const APPS = `
  select slug, id, count(user_id) as users, coalesce(actions30, 0) as actions30
  from apps left join app_grants on app_id = id left join usage_windows windows on windows.app_id = id
  group by id, actions30 order by users desc, created_at`;

/** Lists the rows and the size with indexes of each table, and the size of three apps. */
const describeDatabase = async (connection: Connection): Promise<string[]> => {
  const client = new Client(connection);
  await client.connect();
  try {
    return [...(await describeTables(client)), '', ...(await describeApps(client))];
  } finally {
    await client.end();
  }
};

const describeTables = async (client: Client): Promise<string[]> => {
  const { rows: tables } = await client.query<TableSize>(TABLES);
  const lines: string[] = [];
  for (const { name, bytes } of tables) {
    const counting = `select count(*) as rows from ${client.escapeIdentifier(name)}`;
    const { rows } = await client.query<{ rows: string }>(counting);
    const megabytes = (Number(bytes) / 1e6).toFixed(1).padStart(10);
    lines.push(`${name.padEnd(24)}${withCommas(rows[0]?.rows ?? '0').padStart(12)} rows${megabytes} MB`);
  }
  return lines.filter((line) => !line.includes(' 0 rows'));
};

/** The largest, an average and the smallest app. */
const describeApps = async (client: Client): Promise<string[]> => {
  const { rows: apps } = await client.query<AppSize>(APPS);
  const average = apps.reduce((sum, { users }) => sum + Number(users), 0) / apps.length;
  const deviationOf = ({ users }: AppSize): number => Math.abs(Number(users) - average);
  const [nearest] = apps.toSorted((one, other) => deviationOf(one) - deviationOf(other));
  return [apps[0], nearest, apps.at(-1)].flatMap((app) => (app ? [lineOf(app)] : []));
};

const lineOf = ({ slug, id, users, actions30 }: AppSize): string =>
  `${slug} (${id}): ${withCommas(users)} users, ${withCommas(actions30)} entries in 30 days`;

const withCommas = (count: string): string => Number(count).toLocaleString('en');

await new Command('bench:data')
  .description('Fill an empty database with generated data; the same options give the same rows')
  .option('--users <n>', 'number of users', parseCount, 100_000)
  .option('--apps <n>', 'number of apps', parseCount, 200)
  .option(
    '--clients <n>',
    `number of clients, one site each (default: one per ${APPS_PER_CLIENT} apps)`,
    parseCount,
  )
  .option('--entries <n>', 'number of usage entries', parseCount, 2_000_000)
  .option('--hot-entries <n>', 'entries of the first app in the last 30 days', parseCount, 0)
  .option('--days <n>', 'length of the log', parseCount, 120)
  .option('--seed <n>', 'seed of the random numbers', parseCount, 1)
  .option(
    '--until <time>',
    'midnight UTC at which the log ends (default: the last midnight)',
    parseTime,
    lastMidnight(),
  )
  .addHelpText('after', HELP)
  .action(fill)
  .parseAsync()
  .catch(reportDataFailure);
