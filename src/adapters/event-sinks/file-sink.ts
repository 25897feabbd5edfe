import { constants, type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '../../lib/files.ts';
import { type EventSink, jsonLinesOf } from './event-sink.ts';

/** Readable for the group, which is often the group of log shippers. */
const MODE = 0o640;
/** Read access is needed to find a half line. It also opens a named pipe without waiting for its other end. */
const APPEND = constants.O_RDWR | constants.O_APPEND;

/**
 * Appends lines of JSON to a file. The file is opened for each batch, so that after a rename by logrotate the next batch creates a new file
 * without a signal.
 */
export const createFileSink = (path: string): EventSink => ({
  name: 'file',

  write: async (events) => {
    await using file = await open(path, APPEND | constants.O_CREAT, MODE);
    await requireFile(file, path);
    const end = await cutHalfLine(file, path);
    try {
      await writeAll(file, Buffer.from(jsonLinesOf(events)));
      await file.sync();
    } catch (error) {
      // Removes what was written of the batch before the disk was full. If this fails too, the next batch removes the half line.
      await file.truncate(end).catch(() => {});
      throw error;
    }
    if (end === 0) await syncDirectory(dirname(path));
  },
});

/** Pipes and devices store nothing. */
const requireFile = async (file: FileHandle, path: string): Promise<void> => {
  if (!(await file.stat()).isFile()) throw new Error(`${path} is not a file`);
};

/** One call, unless the disk is full or a limit is reached: then the next call fails with the reason. */
const writeAll = async (file: FileHandle, bytes: Buffer): Promise<void> => {
  for (let written = 0; written < bytes.length; )
    written += (await file.write(bytes, written, bytes.length - written)).bytesWritten;
};

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;
/** The start of each line. */
const HEAD = Buffer.from('{"id":');

/**
 * Removes a half line that a crash has left at the end. Its event was not acknowledged, so it is sent again.
 * @returns the size of the file
 * @throws Error if the rest is no part of an event, because then the file belongs to something else
 */
const cutHalfLine = async (file: FileHandle, path: string): Promise<number> => {
  const { size } = await file.stat();
  const end = await findEndOfLines(file, size);
  if (end === size) return size;
  const head = await readAt(file, end, Math.min(HEAD.length, size - end));
  if (!HEAD.subarray(0, head.length).equals(head))
    throw new Error(`${path} ends in the middle of a line that is not an event: move the file away`);
  await file.truncate(end);
  return end;
};

const findEndOfLines = async (file: FileHandle, size: number): Promise<number> => {
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - BLOCK_BYTES);
    const newline = (await readAt(file, start, end - start)).lastIndexOf(NEWLINE);
    if (newline !== -1) return start + newline + 1;
    end = start;
  }
  return 0;
};

const readAt = async (file: FileHandle, position: number, length: number): Promise<Buffer> => {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
};
