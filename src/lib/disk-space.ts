import { statfs } from 'node:fs/promises';

/** A WAL segment: PostgreSQL stops if it cannot create another. */
const NEEDED_BYTES = 16 * 1024 * 1024;

export const hasDiskSpace = async (folder: string): Promise<boolean> => {
  const stats = await statfs(folder).catch((_unavailable: unknown) => null);
  return stats === null || stats.bavail * stats.bsize >= NEEDED_BYTES;
};
