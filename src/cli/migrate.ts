import type { Command } from 'commander';
import { type Config, readConfig } from '../config/config.ts';
import type { MigrationPreview } from '../db/migration-preview.ts';
import { formatCount } from '../lib/format-count.ts';

const HELP = `
--dry-run changes nothing, and may run beside the service. It lists the locks that each migration takes on existing
tables, with their estimated sizes. With --measure it also runs the migrations in a transaction that is rolled back,
and prints how long they take on this data: requests that need the same tables wait for as long. It gives up if a lock
is not granted within 3 s.`;

export const addMigrateCommand = (program: Command): void => {
  program
    .command('migrate')
    .description('Apply pending migrations and exit')
    .option('--dry-run', 'list pending migrations and their locks without applying them')
    .option('--measure', 'with --dry-run: run them in a transaction that is rolled back')
    .addHelpText('after', HELP)
    .action(async ({ dryRun = false, measure = false }: { dryRun?: boolean; measure?: boolean }) => {
      const config = readConfig(process.env);
      const lines = dryRun || measure ? await preview(config, measure) : await apply(config);
      process.stdout.write(`${lines.join('\n')}\n`);
    });
};

const apply = async (config: Config): Promise<string[]> => {
  const { migrate } = await import('./database-work.ts');
  const names = await migrate(config);
  return [names.length > 0 ? `Applied ${names.join(', ')}` : NONE];
};

const NONE = 'No pending migrations.';

const preview = async (config: Config, isMeasured: boolean): Promise<string[]> => {
  const { previewMigrations } = await import('../db/migration-preview.ts');
  const { withDatabaseHost } = await import('../server/database-host.ts');
  const pending = await withDatabaseHost(config, ({ connection }) =>
    previewMigrations(connection, { isMeasured }),
  );
  return pending.length > 0 ? pending.flatMap(linesOf) : [NONE];
};

const linesOf = ({ name, locks, ms }: MigrationPreview): string[] => [
  ms === null ? name : `${name}: took ${ms.toFixed(0)} ms`,
  ...(locks.length === 0 ? ['  locks no existing table'] : []),
  ...locks.map(
    ({ table, mode, rows, bytes }) =>
      `  locks ${table} (${mode}), about ${formatCount(rows, 'row')}, ${(bytes / 1e6).toFixed(1)} MB`,
  ),
];
