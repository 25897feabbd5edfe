import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { orMissing } from '../../core/file-errors.ts';
import { EmbeddedPostgresError } from './errors.ts';

/** The user that PostgreSQL runs as when it is not our own. */
export type Account = { uid: number; gid: number };

/** `nobody` on every Linux distribution of this decade. */
const NOBODY: Account = { uid: 65534, gid: 65534 };

/**
 * The account to run PostgreSQL as, which refuses to be root; undefined means our own.
 * As root, an existing cluster keeps the owner it has.
 */
export const serverAccount = async (clusterDir: string): Promise<Account | undefined> => {
  const owner = await orMissing(stat(clusterDir));
  const uid = process.getuid?.();
  if (uid === 0) return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : NOBODY;
  if (owner && owner.uid !== uid) {
    throw new EmbeddedPostgresError(
      `${clusterDir} belongs to uid ${owner.uid}, and this is uid ${uid}. Start Steward as that user or as root.`,
    );
  }
  return undefined;
};

const READ_AND_ENTER = 0o5;
const ENTER = 0o1;

const grants = async (path: string, { uid, gid }: Account, wanted: number): Promise<boolean> => {
  const entry = await stat(path);
  const shift = entry.uid === uid ? 6 : entry.gid === gid ? 3 : 0;
  return ((entry.mode >> shift) & wanted) === wanted;
};

/** Whether the account can list or run `path` and pass through all the directories above it. */
export const canReach = async (path: string, account: Account): Promise<boolean> => {
  let wanted = READ_AND_ENTER;
  for (let at = await realpath(path); ; at = dirname(at)) {
    if (!(await grants(at, account, wanted))) return false;
    if (at === dirname(at)) return true;
    wanted = ENTER;
  }
};
