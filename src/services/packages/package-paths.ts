import type { Problem } from '../../lib/problems.ts';
import { invalidPackage, MAX_ENTRIES } from './package-limits.ts';

/** Keeps the set of names seen small, whatever an archive claims. */
const MAX_PATH_CHARACTERS = 1024;

/** Takes the paths of one package in turn, and refuses any that could leave its folder or hide another. */
export const createPathRules = () => {
  const seen = new Set<string>();
  let entries = 0;

  /**
   * The path without `./` before and `/` behind it; the root itself is ''.
   * @throws Problem `invalid-package`
   */
  return (path: string): string => {
    entries += 1;
    if (entries > MAX_ENTRIES) throw refusal(`more than ${MAX_ENTRIES} entries`);
    if (path === '.' || path === './') return unseen(seen, '');

    const bare = path.replace(/^\.\//, '').replace(/\/$/, '');
    const offence = offenceOf(bare);
    if (offence) throw refusal(`${offence}: ${quoted(path)}`);
    return unseen(seen, bare);
  };
};

export const quoted = (path: string): string =>
  JSON.stringify(path.length > 100 ? `${path.slice(0, 99)}…` : path);

const unseen = (seen: Set<string>, path: string): string => {
  if (seen.has(path)) throw refusal(`a path twice: ${quoted(path)}`);
  seen.add(path);
  return path;
};

const offenceOf = (path: string): string | null => {
  if (path.length > MAX_PATH_CHARACTERS) return `a path longer than ${MAX_PATH_CHARACTERS} characters`;
  if (path.includes('\\')) return 'a path with a backslash';
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return 'an absolute path';
  if (path.split('/').includes('..')) return 'a path that leads out of it';
  if (path.split('/').some((segment) => segment === '' || segment === '.')) return 'an unclear path';
  return null;
};

const refusal = (what: string): Problem => invalidPackage(`The package holds ${what}.`);
