import type { Command } from 'commander';
import { readConfig } from '../core/config.ts';

/** Loaded when a command is run: help need not wait for it. */
const loadPacking = () => import('../services/packages/package-packing.ts');

export const addAppCommands = (program: Command): void => {
  const apps = program.command('apps').description('make and publish app packages');

  apps
    .command('pack')
    .description('make {slug}-{version}.tgz of a folder that has an app.yaml')
    .argument('<dir>', 'folder of the app')
    .option('--out <folder>', 'where to put the package', '.')
    .action(async (dir: string, { out }: { out: string }) => {
      const { packDirectory } = await loadPacking();
      const { file, sha256, sizeBytes } = await packDirectory(dir, out);
      process.stdout.write(`${file}\n${sizeBytes} bytes, SHA-256 ${sha256}\n`);
    });

  apps
    .command('publish')
    .description('check a package and put it into the store that APP_STORE names')
    .argument('<file>', 'package made by `steward apps pack`')
    .action(async (file: string) => {
      const { packagesDir } = readConfig(process.env);
      const { publishPackageFile } = await loadPacking();
      const { createFolderPackageStore } = await import('../adapters/folder-package-store.ts');
      const store = createFolderPackageStore({ dir: packagesDir });
      const { slug, version, sha256 } = await publishPackageFile(store, file);
      process.stdout.write(`Published ${slug} ${version}\nSHA-256 ${sha256}\n`);
    });
};
