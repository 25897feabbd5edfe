import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import semver from 'semver';
import { openPackageStore, type PackageStore } from '../adapters/package-store/package-store.ts';
import { readConfig } from '../config/config.ts';
import { errorCodeOf, nullIfMissing, reasonOf } from '../lib/errno.ts';
import { ensureDirectory } from '../lib/files.ts';
import { isSlug, type PackageName } from '../lib/package-name.ts';
import { invalidInput, Problem } from '../lib/problems.ts';
import { printLines, toJson } from './run-work.ts';

/** Loaded by the commands that need it, to keep `--help` fast. */
const loadPacking = () => import('../services/packages/package-packing.ts');

/** Limit of excluded paths in the output. */
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
      const paths = await createScaffold(name, dir);
      printLines([...paths.map((path) => join(dir, path)), `Next: steward apps pack ${dir}`]);
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
      printLines([file, `${sizeBytes} bytes, SHA-256 ${sha256}`]);
    });

  apps
    .command('publish')
    .description('Validate a package and upload it to the store in APP_STORE')
    .argument('<file>', 'package created by `steward apps pack`')
    .action(async (file: string) => {
      const { publishPackageFile } = await loadPacking();
      const { slug, version, sha256, isNew } = await withAppStore((store) => publishPackageFile(store, file));
      const outcome = isNew
        ? `Published ${slug} ${version}`
        : `${slug} ${version} is already in the store, with the same bytes`;
      printLines([outcome, `SHA-256 ${sha256}`]);
    });

  apps
    .command('list')
    .description('List the packages in the store in APP_STORE')
    .argument('[slug]', 'list only the versions of this app')
    .option('--json', 'print a JSON array instead of a table')
    .action(async (slug: string | undefined, { json = false }: { json?: boolean }) => {
      const packages = await withAppStore((store) => listPackages(store, slug));
      if (slug !== undefined && packages.length === 0) {
        throw new Problem('not-found', { detail: `The store has no package of an app ${slug}.` });
      }
      printLines(json ? toJson(packages) : formatTable(packages));
    });
};

/**
 * Opens the store of APP_STORE and runs `work`. Unlike callers of the service, the operator can fix the store: errors
 * include the reason.
 */
const withAppStore = async <T>(work: (store: PackageStore) => Promise<T>): Promise<T> => {
  const store = await openPackageStore(readConfig(process.env).appStore);
  return work(store).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.code !== 'package-store-unavailable') throw error;
    const { code, cause } = error;
    const reason = reasonOf(cause).replace(/\s+/g, ' ').trim();
    const detail = `APP_STORE: the package store cannot be used (${reason}).`;
    throw new Problem(code, { detail, cause });
  });
};

/** Lists the packages of a store, or of one app, sorted by slug, newest version first. */
const listPackages = async (store: PackageStore, slug: string | undefined): Promise<PackageName[]> => {
  const packages =
    slug === undefined
      ? await store.list()
      : (await store.versions(slug)).map((version) => ({ slug, version }));
  return packages.sort(bySlugThenNewest);
};

/** Slugs are ASCII: no locale-aware comparison is needed. */
const bySlugThenNewest = (a: PackageName, b: PackageName): number => {
  if (a.slug !== b.slug) return a.slug < b.slug ? -1 : 1;
  return semver.compareBuild(b.version, a.version);
};

const formatTable = (packages: readonly PackageName[]): string | string[] => {
  if (packages.length === 0) return 'There are no packages.';
  const width = Math.max(...packages.map(({ slug }) => slug.length));
  return packages.map(({ slug, version }) => `${slug.padEnd(width)}  ${version}`);
};

/** Shipped next to this file. */
const TEMPLATE = join(import.meta.dirname, 'apps-new-template');
const PATHS = ['app.yaml', 'README.md', 'stacks/overview/index.html'] as const;

/**
 * Creates a folder that can be packed. Existing files are not changed.
 * @returns the paths in it
 * @throws Problem `invalid-input` if the name is not a slug, or the folder is not empty or cannot be created
 */
export const createScaffold = async (slug: string, dir: string): Promise<readonly string[]> => {
  if (!isSlug(slug))
    throw invalidInput(`The name ${JSON.stringify(slug)} must be 1 to 64 of a-z, 0-9, - and _.`);
  if (!(await isFree(dir))) throw invalidInput(`${dir} is there already, and not an empty folder.`);
  await ensureDirectory(dir);
  for (const path of PATHS) {
    const file = join(dir, path);
    await ensureDirectory(dirname(file));
    const template = await readFile(join(TEMPLATE, path), 'utf8');
    // `wx` fails if the file was created in the meantime.
    await writeFile(file, fillTemplate(template, { slug, label: labelOf(slug) }), { flag: 'wx' });
  }
  return PATHS;
};

const isFree = async (dir: string): Promise<boolean> => {
  try {
    return ((await nullIfMissing(readdir(dir))) ?? []).length === 0;
  } catch (error) {
    if (errorCodeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
};

/** `sales-by_region` → `Sales by region`. Letters, digits and spaces need no escaping in YAML or HTML. */
const labelOf = (slug: string): string => {
  const words = slug.replaceAll(/[-_]+/g, ' ').trim() || 'App';
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const fillTemplate = (template: string, values: Record<string, string>): string =>
  template.replaceAll(/\{\{(\w+)\}\}/g, (placeholder, name: string) => values[name] ?? placeholder);
