import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError } from './errors.ts';
import type { LogFile } from './log-file.ts';
import { spawnWatched } from './watchdog.ts';
import { workingDirectory } from './working-directory.ts';

export const USER = 'steward';

export type InitdbOptions = { binaries: Binaries; account: Account | undefined; log: LogFile };

const INITDB_OPTIONS = [
  `--username=${USER}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  // Built in, hence the same order and case rules on every system.
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-instructions',
];

/**
 * Makes a cluster in the empty directory `data`; the password is read from the file named `passwordFile` beside it.
 * @throws EmbeddedPostgresError with the last lines of the log
 */
export const runInitdb = async (
  data: string,
  passwordFile: string,
  options: InitdbOptions,
): Promise<void> => {
  const { binaries, account, log } = options;
  const dir = workingDirectory(data);
  const { exited } = spawnWatched({
    command: binaries.initdb,
    args: ['-D', dir, `--pwfile=${dir}/../${passwordFile}`, ...INITDB_OPTIONS],
    cwd: data,
    account,
    output: log.fd,
  });
  const status = await exited;
  if (status === 0) return;
  throw new EmbeddedPostgresError(
    `The embedded database could not be made (initdb ended with ${status}). Set DATABASE_URL to use another PostgreSQL server. ${log.path} says:\n${await log.tail()}`,
  );
};
