import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCodeOf, nullIfMissing } from '../lib/errno.ts';
import { ensureDirectory } from '../lib/files.ts';
import { isSlug } from '../lib/package-name.ts';
import { invalidInput } from '../lib/problems.ts';

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
