import { join } from 'node:path';
import type { Command } from 'commander';

export const addNewCommand = (apps: Command): void => {
  apps
    .command('new')
    .description('Create a folder with the files of a package')
    .argument('<name>', 'slug of the app: 1 to 64 of a-z, 0-9, - and _')
    .option('--dir <folder>', 'folder to create (default: the name)')
    .action(async (name: string, { dir = name }: { dir?: string }) => {
      const { createScaffold: makeScaffold } = await import('./apps-new-scaffold.ts');
      const paths = await makeScaffold(name, dir);
      const lines = [...paths.map((path) => join(dir, path)), `Next: steward apps pack ${dir}`];
      process.stdout.write(`${lines.join('\n')}\n`);
    });
};
