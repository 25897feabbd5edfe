import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';

export const addUsageCommands = (program: Command): void => {
  const usage = program.command('usage').description('Maintain the usage log');

  usage
    .command('rebuild')
    .description('Recompute usage totals (safe while running)')
    .option('--app <slug>', 'recompute only this app')
    .action(async ({ app }: { app?: string }) => {
      const config = readConfig(process.env);
      const { rebuildAllUsage: rebuildRollups } = await import('./rebuild-usage.ts');
      const count = await rebuildRollups(config, app);
      process.stdout.write(`Recomputed the usage of ${count} ${count === 1 ? 'app' : 'apps'}.\n`);
    });
};
