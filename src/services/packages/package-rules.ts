import { Problem } from '../../lib/problems.ts';

/** Limit of an archive, and also of its content: the tar stream including headers. */
const MAX_PACKAGE_BYTES = 100 * 1024 ** 2;

/** Counts files and folders. */
export const MAX_PACKAGE_ENTRIES = 10_000;

/** Bounds the set of paths that is kept in memory. */
const MAX_PATH_CHARACTERS = 1024;

export const invalidPackage = (detail: string, cause?: unknown): Problem =>
  new Problem('invalid-package', { detail, cause });

/** @throws Problem `invalid-package` if `what` is too large */
export const checkSize = (what: string, sizeBytes: number): void => {
  const maxMiB = MAX_PACKAGE_BYTES / 1024 ** 2;
  if (sizeBytes > MAX_PACKAGE_BYTES) throw invalidPackage(`${what} is larger than ${maxMiB} MiB.`);
};

/** Checks the paths of one package, one by one: none may leave its folder or appear twice. */
export const createPathRules = () => {
  const paths = new Set<string>();

  /**
   * Returns the path without a leading `./` and a trailing `/`; '' for the root.
   * @throws Problem `invalid-package`
   */
  return (path: string): string => {
    if (paths.size >= MAX_PACKAGE_ENTRIES) throw refusal(`more than ${MAX_PACKAGE_ENTRIES} entries`);
    const isRoot = path === '.' || path === './';
    const bare = isRoot ? '' : path.replace(/^\.\//, '').replace(/\/$/, '');
    const fault = isRoot ? null : faultOf(bare);
    if (fault) throw refusal(`${fault}: ${quote(path)}`);
    if (paths.has(bare)) throw refusal(`a path twice: ${quote(bare)}`);
    paths.add(bare);
    return bare;
  };
};

export const quote = (path: string): string =>
  JSON.stringify(path.length > 100 ? `${path.slice(0, 99)}…` : path);

const faultOf = (path: string): string | null => {
  if (path.length > MAX_PATH_CHARACTERS) return `a path longer than ${MAX_PATH_CHARACTERS} characters`;
  if (/\p{Cc}/u.test(path)) return 'a path with a control character';
  if (path.includes('\\')) return 'a path with a backslash';
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return 'an absolute path';
  if (path.split('/').includes('..')) return 'a path that leads out of it';
  if (path.split('/').some((segment) => segment === '' || segment === '.')) return 'an unclear path';
  return null;
};

const refusal = (what: string): Problem => invalidPackage(`The package has ${what}.`);
