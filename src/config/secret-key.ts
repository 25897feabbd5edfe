import { join } from 'node:path';
import { ensureDirectory } from '../lib/ensure-directory.ts';
import { createSecretFile, readSecretFile } from './secret-file.ts';

const REPAIR = 'Remove it to get a new key: links in mails that were sent before stop working.';

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
