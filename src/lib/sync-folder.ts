import { open } from 'node:fs/promises';

/** Flushes new and renamed entries of a folder to disk, which fsync of a file does not. */
export const syncDirectory = async (dir: string): Promise<void> => {
  const handle = await open(dir, 'r');
  await handle.sync().finally(() => handle.close());
};
