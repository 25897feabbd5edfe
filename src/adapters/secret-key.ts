import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { orMissing } from '../core/file-errors.ts';
import { makeFolder } from '../core/make-folder.ts';

const KEY_BYTES = 32;

/**
 * The key that signs links and CSRF tokens, made once and kept in the data folder, for its owner's eyes only.
 * Written whole under another name first, so that no start ever reads half a key.
 */
export const keptSecretKey = async (dataDir: string): Promise<string> => {
  const file = join(dataDir, 'secret-key');
  const kept = await orMissing(readFile(file, 'utf8'));
  if (kept) return kept;
  await makeFolder(dataDir, 0o700);
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, randomBytes(KEY_BYTES).toString('hex'), { mode: 0o600, flush: true });
  await link(draft, file).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  });
  await rm(draft);
  return readFile(file, 'utf8');
};
