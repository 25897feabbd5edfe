import { join } from 'node:path';
import type { Command } from 'commander';
import { Problem } from '../lib/problems.ts';

/** Loaded by the commands that need it, to keep `--help` fast. */
const loadPacking = () => import('../services/packages/package-packing.ts');
const loadStore = () => import('./app-store.ts');

/** Excluded paths listed in the output. */
const MAX_NAMES = 20;
const EXCLUDED_HELP = `
Excluded everywhere: .git, .hg, .svn, node_modules, .env and names that start with it, .DS_Store, Thumbs.db`;

const excludedLine = (paths: readonly string[]): string => {
  if (paths.length === 0) return '';
  const names = paths.slice(0, MAX_NAMES).map((path) => JSON.stringify(path));
  const more = paths.length > MAX_NAMES ? ` and ${paths.length - MAX_NAMES} more` : '';
  return `Excluded: ${names.join(' ')}${more}\n`;
};

export const addAppCommands = (program: Command): void => {
  const apps = program.command('apps').description('Create, publish and list app packages');

  apps
    .command('new')
    .description('Create a folder with the files of a package')
    .argument('<name>', 'slug of the app: 1 to 64 of a-z, 0-9, - and _')
    .option('--dir <folder>', 'folder to create (default: the name)')
    .action(async (name: string, { dir = name }: { dir?: string }) => {
      const { createScaffold } = await import('./apps-new-scaffold.ts');
      const paths = await createScaffold(name, dir);
      const lines = [...paths.map((path) => join(dir, path)), `Next: steward apps pack ${dir}`];
      process.stdout.write(`${lines.join('\n')}\n`);
    });

  apps
    .command('pack')
    .description('Pack a folder with an app.yaml into {slug}-{version}.tgz')
    .argument('<dir>', 'folder of the app')
    .option('--out <folder>', 'output folder', '.')
    .addHelpText('after', EXCLUDED_HELP)
    .action(async (dir: string, { out }: { out: string }) => {
      const { packDirectory } = await loadPacking();
      const { file, sha256, sizeBytes, leftOut } = await packDirectory(dir, out);
      process.stderr.write(excludedLine(leftOut));
      process.stdout.write(`${file}\n${sizeBytes} bytes, SHA-256 ${sha256}\n`);
    });

  apps
    .command('publish')
    .description('Validate a package and upload it to the store in APP_STORE')
    .argument('<file>', 'package created by `steward apps pack`')
    .action(async (file: string) => {
      const { publishPackageFile } = await loadPacking();
      const { withAppStore } = await loadStore();
      const { slug, version, sha256, isNew } = await withAppStore((store) => publishPackageFile(store, file));
      const outcome = isNew
        ? `Published ${slug} ${version}`
        : `${slug} ${version} is already in the store, with the same bytes`;
      process.stdout.write(`${outcome}\nSHA-256 ${sha256}\n`);
    });

  apps
    .command('list')
    .description('List the packages in the store in APP_STORE')
    .argument('[slug]', 'list only the versions of this app')
    .option('--json', 'print a JSON array instead of a table')
    .action(async (slug: string | undefined, { json = false }: { json?: boolean }) => {
      const { formatTable, listPackages, withAppStore } = await loadStore();
      const packages = await withAppStore((store) => listPackages(store, slug));
      if (slug !== undefined && packages.length === 0) {
        throw new Problem('not-found', { detail: `The store has no package of an app ${slug}.` });
      }
      process.stdout.write(json ? `${JSON.stringify(packages, null, 2)}\n` : formatTable(packages));
    });
};
