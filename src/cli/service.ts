import type { Command } from 'commander';
import { readConfig } from '../core/config.ts';
import { migrateDatabase } from '../database.ts';
import { serve } from '../main.ts';
import { inWorkplace } from '../workplace.ts';

export const addServiceCommands = (program: Command): void => {
  program
    .command('serve')
    .description('run the service until it is told to stop')
    .action(() => serve(readConfig(process.env)));

  program
    .command('demo')
    .description('run the service, on an empty database with the demo workspace')
    .action(() => serve({ ...readConfig(process.env), demo: true }));

  program
    .command('migrate')
    .description('bring the database to the newest schema, and end')
    .action(async () => {
      const names = await inWorkplace(readConfig(process.env), ({ connection }) =>
        migrateDatabase(connection),
      );
      process.stdout.write(names.length > 0 ? `Applied ${names.join(', ')}\n` : 'Nothing to apply.\n');
    });
};
