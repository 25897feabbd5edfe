import { open } from 'node:fs/promises';

/** Makes new and renamed entries of a folder durable, as fsync of a file does not. */
export const syncDirectory = async (dir: string): Promise<void> => {
  const handle = await open(dir, 'r');
  await handle.sync().finally(() => handle.close());
};
