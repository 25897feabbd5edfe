import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes an empty folder. Disposing it removes it. */
export const makeScratchFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'steward-test-'));
  return {
    path,
    join: (...parts: string[]): string => join(path, ...parts),
    // Retries, because a server that is stopping may still write there.
    [Symbol.asyncDispose]: (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 10 }),
  };
};
