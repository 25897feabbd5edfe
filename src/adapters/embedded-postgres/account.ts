import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { nullIfMissing } from '../../lib/errno.ts';
import { EmbeddedPostgresError } from './errors.ts';

export const run = promisify(execFile);

/** The user that runs PostgreSQL, if it is not the current one. */
export type Account = { uid: number; gid: number };

/**
 * Uids that neither distributions nor systemd assign to users or services (systemd's "Users, Groups, UIDs and GIDs").
 * They are below 65536: user namespaces of containers often map no others.
 */
const FIRST_UID = 60_706;
const UID_COUNT = 478;

/** A uid used only by this database, so that no other process can read its files or memory. */
const dedicatedAccount = (dataDir: string): Account => {
  const hash = createHash('sha256').update(dataDir).digest().readUInt32BE();
  const uid = FIRST_UID + (hash % UID_COUNT);
  return { uid, gid: uid };
};

/**
 * Selects the user that runs PostgreSQL, which refuses to run as root; undefined means the current user.
 * The owner of an existing cluster does not change.
 */
export const serverAccount = async (dataDir: string, clusterDir: string): Promise<Account | undefined> => {
  const owner = await nullIfMissing(stat(clusterDir));
  const uid = process.getuid?.();
  if (uid === 0) {
    return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : dedicatedAccount(dataDir);
  }
  if (owner && owner.uid !== uid) {
    const starter = isDedicated(owner.uid) ? 'root' : `uid ${owner.uid}`;
    throw new EmbeddedPostgresError(
      `${clusterDir} belongs to uid ${owner.uid}, and Steward runs as uid ${uid}. Start Steward as ${starter}.`,
    );
  }
  return undefined;
};

const isDedicated = (uid: number): boolean => uid >= FIRST_UID && uid < FIRST_UID + UID_COUNT;

export const chownTree = async (dir: string, { uid, gid }: Account): Promise<void> => {
  await run('chown', ['-Rh', `${uid}:${gid}`, dir]);
};

/** Whether the account can list or execute `path`, below all directories above it. */
export const canReach = (path: string, account: Account): Promise<boolean> =>
  run('/bin/sh', ['-c', '[ -r "$0" ] && [ -x "$0" ]', path], { ...account, cwd: '/' }).then(
    () => true,
    (_denied: unknown) => false,
  );

/** The path of a Unix socket has at most 103 bytes (macOS); the names below the base need about 40. */
const MAX_BASE_BYTES = 60;

/** Creates a directory with a short random path for sockets, accessible only to the account. It is removed when disposed of. */
export const openTempDir = async (account?: Account) => {
  const preferred = tmpdir();
  const isShort = Buffer.byteLength(preferred) <= MAX_BASE_BYTES;
  const base = isShort && (!account || (await canReach(preferred, account))) ? preferred : '/tmp';

  const path = await mkdtemp(join(base, 'steward-'));
  if (account) await chown(path, account.uid, account.gid);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
};
