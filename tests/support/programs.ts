import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Has no user interface: opening a page takes a quarter of the CPU time that it takes in `chromium`. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';

/** The executable of one of Debian's packages, unless CHROMIUM is set. */
export const CHROMIUM =
  process.env.CHROMIUM ?? (existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : '/usr/bin/chromium');

/** The executable of Debian's package. */
export const PGBOUNCER = '/usr/sbin/pgbouncer';

/** Where `.ci/run` installs the programs of PostgreSQL 17, from which the embedded database is upgraded. */
export const OLD_PROGRAMS = join(import.meta.dirname, '../../node_modules/.cache/postgres-17');

/** Debian's python3-requests belongs to the first one; another Python may precede it on PATH. */
const PYTHONS = ['/usr/bin/python3', 'python3'];

const hasRequests = (python: string): boolean =>
  spawnSync(python, ['-c', 'import requests'], { stdio: 'ignore' }).status === 0;

/** A Python that has the library `requests`. */
export const findPythonWithRequests = (): string | undefined => PYTHONS.find(hasRequests);

const OLDEST_MAJOR = 18;
const REQUIRED_MAJOR = 24;

const majorOf = (node: string): number =>
  Number(/^v(\d+)\./.exec(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout)?.[1]);

/** A Node on PATH that is too old for the service, such as that of the system. */
export const findOlderNode = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .filter(existsSync)
    .find((node) => majorOf(node) >= OLDEST_MAJOR && majorOf(node) < REQUIRED_MAJOR);
