import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';

/** Loaded when a command is run: help and refused settings need not wait for the whole service. */
const loadService = () => import('../main.ts');

export const addServiceCommands = (program: Command): void => {
  program
    .command('serve')
    .description('run the service until it is told to stop')
    .action(async () => {
      const config = readConfig(process.env);
      await (await loadService()).serve(config);
    });

  program
    .command('demo')
    .description('run the service, on an empty database with the demo workspace')
    .action(async () => {
      const config = readConfig(process.env);
      await (await loadService()).serve({ ...config, demo: true });
    });

  program
    .command('migrate')
    .description('bring the database to the newest schema, and end')
    .action(async () => {
      const config = readConfig(process.env);
      const { migrate } = await import('./migrate.ts');
      await migrate(config);
    });
};
