import type { Command } from 'commander';
import { Problem } from '../lib/problems.ts';
import { addNewCommand } from './apps-new.ts';

/** Loaded when a command is run: help need not wait for it. */
const loadPacking = () => import('../services/packages/package-packing.ts');
const loadStore = () => import('./app-store.ts');

/** Of what was left out; more than anyone reads in a line. */
const MAX_NAMES = 20;
const LEFT_OUT_HELP = `
Left out, wherever they are: .git, .hg, .svn, node_modules, .env and whatever begins so, .DS_Store, Thumbs.db`;

const leftOutLine = (paths: readonly string[]): string => {
  if (paths.length === 0) return '';
  const names = paths.slice(0, MAX_NAMES).map((path) => JSON.stringify(path));
  const more = paths.length > MAX_NAMES ? ` and ${paths.length - MAX_NAMES} more` : '';
  return `Left out: ${names.join(' ')}${more}\n`;
};

export const addAppCommands = (program: Command): void => {
  const apps = program.command('apps').description('make, publish and list app packages');
  addNewCommand(apps);

  apps
    .command('pack')
    .description('make {slug}-{version}.tgz of a folder that has an app.yaml')
    .argument('<dir>', 'folder of the app')
    .option('--out <folder>', 'where to put the package', '.')
    .addHelpText('after', LEFT_OUT_HELP)
    .action(async (dir: string, { out }: { out: string }) => {
      const { packDirectory } = await loadPacking();
      const { file, sha256, sizeBytes, leftOut } = await packDirectory(dir, out);
      process.stderr.write(leftOutLine(leftOut));
      process.stdout.write(`${file}\n${sizeBytes} bytes, SHA-256 ${sha256}\n`);
    });

  apps
    .command('publish')
    .description('check a package and put it into the store that APP_STORE names')
    .argument('<file>', 'package made by `steward apps pack`')
    .action(async (file: string) => {
      const { publishPackageFile } = await loadPacking();
      const { withAppStore: inAppStore } = await loadStore();
      const { slug, version, sha256, isNew } = await inAppStore((store) => publishPackageFile(store, file));
      const outcome = isNew
        ? `Published ${slug} ${version}`
        : `${slug} ${version} is already in the store, with the same bytes`;
      process.stdout.write(`${outcome}\nSHA-256 ${sha256}\n`);
    });

  apps
    .command('list')
    .description('list the packages in the store that APP_STORE names')
    .argument('[slug]', 'only the versions of this app')
    .option('--json', 'as a JSON array instead of a table')
    .action(async (slug: string | undefined, { json = false }: { json?: boolean }) => {
      const { listPackages, formatJson: jsonOf, formatTable: tableOf } = await import('./apps-list.ts');
      const { withAppStore: inAppStore } = await loadStore();
      const packages = await inAppStore((store) => listPackages(store, slug));
      if (slug !== undefined && packages.length === 0) {
        throw new Problem('not-found', { detail: `The store has no package of an app ${slug}.` });
      }
      process.stdout.write(json ? jsonOf(packages) : tableOf(packages));
    });
};
