import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes an empty folder that is removed when it is disposed of. */
export const makeScratchFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'steward-test-'));
  return {
    path,
    join: (...parts: string[]): string => join(path, ...parts),
    // A server that is just ending may still be writing there.
    [Symbol.asyncDispose]: (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 10 }),
  };
};
