import { execFileSync, spawnSync } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { access, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import previous from '../upgrade/previous-version.json' with { type: 'json' };
import { makeScratchFolder } from './files.ts';

/** Has no user interface: opening a page takes a quarter of the CPU time that it takes in `chromium`. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';

/** The executable of one of Debian's packages, unless CHROMIUM is set. */
export const CHROMIUM =
  process.env.CHROMIUM ?? (existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : '/usr/bin/chromium');

/** The executable of Debian's package. */
export const PGBOUNCER = '/usr/sbin/pgbouncer';

/** Makes codes as authenticator apps do. The executable of Debian's package. */
export const OATHTOOL = '/usr/bin/oathtool';

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

/** The only credentials that the S3 server of the tests accepts. */
export const KEYS = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };

/** With credentials in the environment, the AWS client does not search the machine for others. */
export const AWS_ENVIRONMENT = { AWS_EC2_METADATA_DISABLED: 'true', ...KEYS };

const PROJECT = join(import.meta.dirname, '../..');
const MAX_ARCHIVE_BYTES = 256 * 1024 * 1024;

/** The version that an upgrade starts from. `npm run release` writes it. */
export const PREVIOUS = previous;

/** Extracts the previous version and installs its dependencies, which may differ from those of today. Disposing removes it. */
export const extractPreviousVersion = async () => {
  const folder = await makeScratchFolder();
  const options = { cwd: PROJECT, maxBuffer: MAX_ARCHIVE_BYTES };
  const input = execFileSync('git', ['archive', '--format=tar', PREVIOUS.commit], options);
  execFileSync('tar', ['-x', '-C', folder.path], { input });
  const install = ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  execFileSync('npm', install, { cwd: folder.path, stdio: ['ignore', 'ignore', 'inherit'] });
  // Its prepared statements read all columns of clients, and fail once there is a new one.
  const settings = { PREPARED_STATEMENTS: '0' };
  return { ...folder, program: { cli: folder.join('src/cli.js'), settings } };
};

const IN_MEMORY = '/dev/shm';
const ROOMY_BYTES = 4 * 1024 ** 3;

/** Some systems mount it so that no program runs from it. */
const canRunPrograms = async (folder: string): Promise<boolean> => {
  const probe = await mkdtemp(join(folder, 'steward-tests-'));
  try {
    const program = join(probe, 'program');
    await writeFile(program, '', { mode: 0o700 });
    return await access(program, constants.X_OK).then(
      () => true,
      (_denied: unknown) => false,
    );
  } finally {
    await rm(probe, { recursive: true });
  }
};

/**
 * Where tests write files: TMPDIR, or else memory, where a database takes a tenth of the CPU time of one on a disk. In
 * containers this file system is often too small.
 */
export const findTempFolder = async (): Promise<string> => {
  if (process.env.TMPDIR) return process.env.TMPDIR;
  const room = await statfs(IN_MEMORY).catch((_absent: unknown) => undefined);
  const isRoomy = room !== undefined && room.bavail * room.bsize >= ROOMY_BYTES;
  return isRoomy && (await canRunPrograms(IN_MEMORY)) ? IN_MEMORY : tmpdir();
};
