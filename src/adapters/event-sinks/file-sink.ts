import { access, constants, type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { nullIfMissing } from '../../lib/errno.ts';
import { syncDirectory } from '../../lib/files.ts';
import { type EventSink, jsonLinesOf } from './event-sink.ts';

/** Readable for the group, which is often the group of log shippers. */
const MODE = 0o640;
/** Read access is needed to see a half line. It also opens a named pipe without waiting for its other end. */
const APPEND = constants.O_RDWR | constants.O_APPEND;

/**
 * Appends lines of JSON to a file. The file is opened for each batch, so that after a rename by logrotate the next batch creates a new file
 * without a signal.
 */
export const createFileSink = (path: string): EventSink => ({
  name: 'file',

  write: async (events) => {
    await using file = await open(path, APPEND | constants.O_CREAT, MODE);
    const size = await sizeOf(file, path);
    const start = (await endsWithinLine(file, size)) ? '\n' : '';
    try {
      await file.appendFile(start + jsonLinesOf(events));
      await file.sync();
    } catch (error) {
      // Removes what was written of the batch before the disk was full.
      await file.truncate(size).catch(() => {});
      throw error;
    }
    if (size === 0) await syncDirectory(dirname(path));
  },

  verify: async () => {
    // Creates nothing: the command may run as another user than the service.
    await using file = await nullIfMissing(open(path, APPEND));
    if (file) await sizeOf(file, path);
    else await access(dirname(path), constants.W_OK | constants.X_OK);
    return { place: path };
  },
});

/** Pipes and devices store nothing. */
const sizeOf = async (file: FileHandle, path: string): Promise<number> => {
  const stats = await file.stat();
  if (!stats.isFile()) throw new Error(`${path} is not a file`);
  return stats.size;
};

/** Whether a crash has left a half line at the end. Its event was not acknowledged, so it is sent again. */
const endsWithinLine = async (file: FileHandle, size: number): Promise<boolean> => {
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString() !== '\n';
};
