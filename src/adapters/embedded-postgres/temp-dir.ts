import { chown, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Account, canReach } from './account.ts';

/** A Unix socket's path has at most 103 bytes (macOS); the names below the base need about 40. */
const MAX_BASE_BYTES = 60;

/**
 * Makes a new directory of mode 0700 with a short path, for sockets. Its name is random and
 * the directory new, so that no other local user can have prepared it.
 */
export const makeTempDir = async (account?: Account): Promise<string> => {
  const preferred = tmpdir();
  const fits = Buffer.byteLength(preferred) <= MAX_BASE_BYTES;
  const base = fits && (!account || (await canReach(preferred, account))) ? preferred : '/tmp';

  const dir = await mkdtemp(join(base, 'steward-'));
  if (account) await chown(dir, account.uid, account.gid);
  return dir;
};
