import { statfs } from 'node:fs/promises';

/** A segment of PostgreSQL's write-ahead log: without room for another one, the server ends. */
const NEEDED_BYTES = 16 * 1024 * 1024;

export const hasDiskSpace = async (folder: string): Promise<boolean> => {
  const room = await statfs(folder).catch((_unknown: unknown) => null);
  return room === null || room.bavail * room.bsize >= NEEDED_BYTES;
};
