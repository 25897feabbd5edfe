import { Command } from 'commander';
import { reportFailure } from '../src/cli/failures.ts';
import { readConfig } from '../src/config/config.ts';
import { withDatabaseHost } from '../src/server/database-host.ts';
import { fillDatabase } from './data/fill.ts';
import { ADMIN, defaultPlan, PASSWORD, type Plan, ROOT, STAFF } from './data/rows.ts';
import { parseCount } from './environment.ts';

const APPS_PER_CLIENT = 10;

const HELP = `
Fills the database of DATABASE_URL, or else the embedded one under DATA_DIR. The database must be empty.
${ROOT}, ${STAFF} and ${ADMIN} can log in with the password ${PASSWORD}.`;

type Options = Pick<Plan, 'users' | 'apps' | 'entries'> & { clients?: number };

const fill = async ({ clients, ...options }: Options): Promise<void> => {
  const plan = {
    ...defaultPlan(),
    ...options,
    clients: clients ?? Math.ceil(options.apps / APPS_PER_CLIENT),
  };
  const started = performance.now();
  await withDatabaseHost(readConfig(process.env), ({ connection }) => fillDatabase(connection, plan));
  process.stdout.write(`Filled in ${((performance.now() - started) / 1000).toFixed(1)} s.\n`);
};

const { users, apps, entries } = defaultPlan();

await new Command('bench:data')
  .description(
    'Fill an empty database with generated data; the same options give the same rows on the same day',
  )
  .option('--users <n>', 'number of users', parseCount, users)
  .option('--apps <n>', 'number of apps', parseCount, apps)
  .option(
    '--clients <n>',
    `number of clients, one site each (default: one per ${APPS_PER_CLIENT} apps)`,
    parseCount,
  )
  .option('--entries <n>', 'number of usage entries', parseCount, entries)
  .addHelpText('after', HELP)
  .action(fill)
  .parseAsync()
  .catch(reportFailure);
