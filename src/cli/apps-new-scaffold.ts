import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensureDirectory } from '../lib/ensure-directory.ts';
import { errorCodeOf, nullIfMissing } from '../lib/errno.ts';
import { isSlug } from '../lib/package-name.ts';
import { Problem } from '../lib/problems.ts';

/** Shipped beside this file. */
const TEMPLATE = join(import.meta.dirname, 'apps-new-template');
const PATHS = ['app.yaml', 'README.md', 'stacks/overview/index.html'] as const;

/**
 * Makes a folder that can be packed as it is, and answers the paths in it. What is there already is not touched.
 * @throws Problem `invalid-input` for a name that is no slug, or a folder that is not empty or cannot be made
 */
export const createScaffold = async (slug: string, dir: string): Promise<readonly string[]> => {
  if (!isSlug(slug)) throw refusal(`The name ${JSON.stringify(slug)} must be 1 to 64 of a-z, 0-9, - and _.`);
  if (!(await isFree(dir))) throw refusal(`${dir} is there already, and not an empty folder.`);
  await ensureDirectory(dir);
  for (const path of PATHS) {
    const file = join(dir, path);
    await ensureDirectory(dirname(file));
    const template = await readFile(join(TEMPLATE, path), 'utf8');
    // `wx`: what somebody else has made in the meantime is theirs.
    await writeFile(file, filled(template, { slug, label: labelOf(slug) }), { flag: 'wx' });
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

/** `sales-by_region` → `Sales by region`. Letters, digits and blanks: nothing that YAML or HTML would read. */
const labelOf = (slug: string): string => {
  const words = slug.replaceAll(/[-_]+/g, ' ').trim() || 'App';
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const filled = (template: string, values: Record<string, string>): string =>
  template.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole);

const refusal = (detail: string): Problem => new Problem('invalid-input', { detail });
