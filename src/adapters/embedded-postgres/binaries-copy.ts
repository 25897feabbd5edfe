import { access, chmod, constants, cp, lstat, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorCodeOf, nullIfMissing } from '../../lib/errno.ts';
import type { Account } from './account.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { linkLibraries } from './library-links.ts';

type Source = { native: string; version: string; account: Account | undefined; privateDir: string };

/** Root's own cache: no one else can plant files there, and no cleaner empties it as it does /tmp. */
const ROOT_CACHE = '/var/cache';

const copyParent = async ({ account, privateDir }: Source): Promise<string> => {
  if (!account) return privateDir;
  const writable = await access(ROOT_CACHE, constants.W_OK | constants.X_OK).then(
    () => true,
    (_missingOrReadOnly: unknown) => false,
  );
  return writable ? ROOT_CACHE : tmpdir();
};

/** Complete, ours, and not writable by anyone else: running what lies there is as safe as the original. */
const isTrusted = async (copy: string, native: string): Promise<boolean> => {
  const entry = await nullIfMissing(lstat(copy));
  if (!entry) return false;
  if (!entry.isDirectory() || entry.uid !== process.getuid?.() || (entry.mode & 0o022) !== 0) {
    throw new EmbeddedPostgresError(`${copy} was not made by this user: remove it, or set DATABASE_URL.`);
  }
  const found = new Set(await nullIfMissing(readdir(join(copy, 'native'), { recursive: true })));
  return (await readdir(native, { recursive: true })).every((file) => found.has(file));
};

/** A strict umask at install time must not follow the files to where another account reads them. */
const openToReaders = async (dir: string): Promise<void> => {
  await chmod(dir, 0o755);
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const runnable = entry.isDirectory() || ((await lstat(path)).mode & 0o100) !== 0;
    await chmod(path, runnable ? 0o755 : 0o644);
  }
};

/** Puts `made` at `copy`; another process may have been faster, and its copy is as good. */
const publish = async (made: string, copy: string, native: string): Promise<void> => {
  try {
    await rename(made, copy);
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOTEMPTY' && errorCodeOf(error) !== 'EEXIST') throw error;
    const outdone = await isTrusted(copy, native);
    await rm(outdone ? made : copy, { recursive: true, force: true });
    if (!outdone) await rename(made, copy);
  }
};

/**
 * Copies the server's programs once to where the account can run them, and answers the copy's directory:
 * for a project under a closed home directory, or a read-only one whose library links are missing.
 */
export const copyBinaries = async (source: Source): Promise<string> => {
  const copy = join(await copyParent(source), `steward-postgres-${source.version}`);
  const native = join(copy, 'native');
  if (await isTrusted(copy, source.native)) return native;

  const made = await mkdtemp(`${copy}-`);
  await cp(source.native, join(made, 'native'), { recursive: true, verbatimSymlinks: true });
  await linkLibraries(join(made, 'native'));
  await openToReaders(made);
  await publish(made, copy, source.native);
  return native;
};
