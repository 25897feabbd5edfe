import { Command, InvalidArgumentError } from 'commander';
import { reportFailure } from '../src/cli/failures.ts';
import { readConfig } from '../src/config/config.ts';
import { DAY_MS } from '../src/lib/clock.ts';
import { withDatabaseHost } from '../src/server/database-host.ts';
import { fillDatabase, NotEmpty } from './data/fill.ts';
import { BadPlan, type Plan } from './data/plan.ts';
import { describeDatabase } from './data/report.ts';

const APPS_PER_CLIENT = 10;

const HELP = `
The database is that of DATABASE_URL, else the embedded one under DATA_DIR; it has to be empty.
root@bench.test, staff@bench.test and admin@client-1.test can log in, by the password steward-bench-1.`;

const readCount = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is not a whole number.');
  return Number(text);
};

const readInstant = (text: string): Date => {
  const instant = new Date(text);
  if (Number.isNaN(instant.getTime())) throw new InvalidArgumentError('It is not a time.');
  return instant;
};

const today = (): Date => new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS);

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

/** What was asked for wrongly gets a line; everything else is told as the service's commands tell it. */
const reportMisuse = (error: unknown): void => {
  if (error instanceof BadPlan || error instanceof NotEmpty) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else reportFailure(error);
};

await new Command('bench:data')
  .description('fill an empty database with made-up rows, the same for the same options')
  .option('--users <n>', 'users', readCount, 100_000)
  .option('--apps <n>', 'apps', readCount, 200)
  .option('--clients <n>', `clients, a site each (default: one for ${APPS_PER_CLIENT} apps)`, readCount)
  .option('--entries <n>', 'entries of the usage log', readCount, 2_000_000)
  .option('--hot-entries <n>', "how many of them are the first app's of the last 30 days", readCount, 0)
  .option('--days <n>', 'how many days the log goes back', readCount, 120)
  .option('--seed <n>', 'another number gives other rows', readCount, 1)
  .option(
    '--until <time>',
    'midnight UTC at which the log ends (default: the last one)',
    readInstant,
    today(),
  )
  .addHelpText('after', HELP)
  .action(fill)
  .parseAsync()
  .catch(reportMisuse);
