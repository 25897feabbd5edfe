import { randomBytes } from 'node:crypto';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Account } from './account.ts';
import { EmbeddedPostgresError } from './errors.ts';
import type { LogFile, ServerOptions } from './server.ts';
import { spawnWatched, workingDirectory } from './watchdog.ts';

export const SUPERUSER = 'postgres';

const INITDB_OPTIONS = [
  `--username=${SUPERUSER}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  // The built-in provider has the same order and case rules on every system.
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-instructions',
];

/** `nobody`, which has an entry in /etc/passwd on every Linux distribution. */
const NOBODY: Account = { uid: 65534, gid: 65534 };

/**
 * initdb fails for a user without an entry in /etc/passwd. In a user namespace it sees the uid of `nobody`; files still belong
 * to the real uid.
 */
const AS_NOBODY = ['unshare', '--user', `--map-user=${NOBODY.uid}`, `--map-group=${NOBODY.gid}`];

const hasPasswdEntry = (): boolean => {
  try {
    userInfo();
    return true;
  } catch (_noEntry) {
    return false;
  }
};

type Runner = { account: Account | undefined; prefix: string[] };

/** initdb refuses to run as root. */
const chooseRunner = (): Runner => {
  if (process.getuid?.() === 0) return { account: NOBODY, prefix: [] };
  return { account: undefined, prefix: hasPasswdEntry() ? [] : AS_NOBODY };
};

/** Printed by `unshare`, or by the shell if it is missing. */
const UNSHARE_FAILURE = /\bunshare: .+/;

const failureOf = (status: number, lines: string, log: LogFile): string => {
  const [denied] = UNSHARE_FAILURE.exec(lines) ?? [];
  if (denied !== undefined)
    return `uid ${process.getuid?.()} has no entry in /etc/passwd, which is needed to create the embedded database, and user namespaces are denied (${denied}). Add an entry (in a container, mount an /etc/passwd that has one), start Steward as root, or set DATABASE_URL to another PostgreSQL server.`;
  return `The embedded database could not be created (initdb exited with ${status}). Set DATABASE_URL to use another PostgreSQL server. ${log.path} says:\n${lines}`;
};

/**
 * Creates a cluster in `work`/data, owned by the user that ran initdb.
 * @returns the password of its superuser, which must be replaced: other processes of `nobody` could have read it
 * @throws EmbeddedPostgresError with the last lines of the log
 */
export const runInitdb = async (work: string, { binaries, log }: Pick<ServerOptions, 'binaries' | 'log'>) => {
  const { account, prefix } = chooseRunner();
  const password = randomBytes(24).toString('base64url');
  const passwordFile = join(work, 'password');
  const data = join(work, 'data');
  await mkdir(data, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (account) for (const path of [work, data, passwordFile]) await chown(path, account.uid, account.gid);

  const dir = workingDirectory(data);
  const [command = '', ...args] = [
    ...prefix,
    binaries.initdb,
    ...['-D', dir, `--pwfile=${dir}/../password`],
    ...INITDB_OPTIONS,
  ];
  const status = await spawnWatched({ command, args, cwd: data, account, output: log.fd }).exited;
  if (status === 0) return password;
  throw new EmbeddedPostgresError(failureOf(status, await log.tail(), log));
};
