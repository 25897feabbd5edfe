import { randomBytes } from 'node:crypto';
import { type FileHandle, link, open, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCodeOf, nullIfMissing, OperatorError } from '../lib/errno.ts';
import { ensureDirectory, syncDirectory } from '../lib/files.ts';

const SECRET_BYTES = 32;
/** The minimum of SECRET_KEY. An empty or short key can be guessed, and its signatures forged. */
const MIN_CHARACTERS = 32;
const GROUP_AND_OTHERS = 0o077;

/** A secret in a file that others can read or could have written. */
export class SecretFileError extends OperatorError {}

/** Checks the open file, so that the checked file is the one that is read. */
const checkAccess = async (handle: FileHandle, path: string): Promise<void> => {
  const stats = await handle.stat();
  const { uid, mode } = stats;
  if (!stats.isFile()) throw new SecretFileError(`${path} is not a file. Remove it and start again.`);
  const own = process.getuid?.();
  if (own === undefined) return;
  if (uid !== own) {
    throw new SecretFileError(
      `${path} belongs to uid ${uid}, but Steward runs as uid ${own}. Start Steward as uid ${uid}, or run: chown ${own} '${path}'`,
    );
  }
  if ((mode & GROUP_AND_OTHERS) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  throw new SecretFileError(
    `${path} has mode ${octal}, but must be accessible to its owner only (0600). Run: chmod 600 '${path}'`,
  );
};

/**
 * Reads a secret that only the user of this process can read or write.
 * @param repair what to do when the file is empty or too short
 * @returns null when there is no file
 * @throws SecretFileError
 */
export const readSecretFile = async (path: string, repair: string): Promise<string | null> => {
  await using handle = await nullIfMissing(open(path, 'r'));
  if (!handle) return null;
  await checkAccess(handle, path);
  const secret = (await handle.readFile('utf8')).trim();
  if (secret.length >= MIN_CHARACTERS) return secret;
  throw new SecretFileError(
    `${path} holds ${secret.length} characters, but needs at least ${MIN_CHARACTERS}. ${repair}`,
  );
};

/**
 * Creates a file with a random secret unless it exists. The content is written to another file first, which then gets
 * the name: a crash leaves no partial secret, and processes that start at the same time use the secret of the first.
 */
export const createSecretFile = async (path: string): Promise<void> => {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const secret = randomBytes(SECRET_BYTES).toString('hex');
    await writeFile(draft, secret, { mode: 0o600, flag: 'wx', flush: true });
    await link(draft, path);
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await syncDirectory(dirname(path));
};

/**
 * Stores a restored key in DATA_DIR.
 * @throws SecretFileError if there is another key
 */
export const adoptSecretKey = async (dataDir: string, secretKey: string): Promise<void> => {
  const path = join(dataDir, 'secret-key');
  const kept = await readSecretFile(path, REPAIR);
  if (kept === secretKey) return;
  if (kept)
    throw new SecretFileError(`${path} holds another key than the backup. Restore into another DATA_DIR.`);
  await ensureDirectory(dataDir, 0o700);
  await writeFile(path, secretKey, { mode: 0o600, flag: 'wx', flush: true });
};

const REPAIR = 'Remove it to get a new key: links in mails that were sent before stop working.';

/** The key in DATA_DIR, or null. @throws SecretFileError when the file is too short or accessible to others */
export const readSecretKey = (dataDir: string): Promise<string | null> =>
  readSecretFile(join(dataDir, 'secret-key'), REPAIR);

/**
 * The key that signs links and CSRF tokens, created once and kept in DATA_DIR.
 * @throws SecretFileError when the file is too short or accessible to others
 */
export const loadSecretKey = async (dataDir: string): Promise<string> => {
  const path = join(dataDir, 'secret-key');
  const kept = await readSecretFile(path, REPAIR);
  if (kept) return kept;
  await ensureDirectory(dataDir, 0o700);
  await createSecretFile(path);
  const created = await readSecretFile(path, REPAIR);
  if (!created) throw new Error(`${path} was removed while Steward started.`);
  return created;
};
