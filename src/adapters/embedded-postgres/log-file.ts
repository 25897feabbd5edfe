import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';

/** Larger logs begin anew at the next start. */
const MAX_BYTES = 10 * 1024 * 1024;
const TAIL_BYTES = 4096;
const TAIL_LINES = 12;

export type LogFile = {
  path: string;
  fd: number;
  /** The last lines written since it was opened. */
  tail(): Promise<string>;
  close(): Promise<void>;
};

const readTail = async (file: FileHandle, start: number): Promise<string> => {
  const { size } = await file.stat();
  const from = Math.max(start, size - TAIL_BYTES);
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(TAIL_BYTES), position: from });
  return buffer.toString('utf8', 0, bytesRead).trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
};

/** Opens `postgres.log`, which takes what the database's programs print. */
export const openLogFile = async (dataDir: string): Promise<LogFile> => {
  const path = join(dataDir, 'postgres.log');
  const file = await open(path, 'a+', 0o600);
  const { size } = await file.stat();
  if (size > MAX_BYTES) await file.truncate();
  const start = size > MAX_BYTES ? 0 : size;
  return { path, fd: file.fd, tail: () => readTail(file, start), close: () => file.close() };
};
