import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';

export const addUsageCommands = (program: Command): void => {
  const usage = program.command('usage').description('care for the usage log');

  usage
    .command('rebuild')
    .description('count the rollups of usage anew from the log, beside a running service if need be')
    .option('--app <slug>', 'of this app only')
    .action(async ({ app }: { app?: string }) => {
      const config = readConfig(process.env);
      const { rebuildAllUsage: rebuildRollups } = await import('./rebuild-usage.ts');
      const count = await rebuildRollups(config, app);
      process.stdout.write(`Counted the usage of ${count} ${count === 1 ? 'app' : 'apps'} anew.\n`);
    });
};
