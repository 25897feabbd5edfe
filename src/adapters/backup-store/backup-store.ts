import { createReadStream } from 'node:fs';
import { access, constants, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { StoreLocation } from '../../config/store-config.ts';
import { systemClock } from '../../lib/clock.ts';
import { BackupStoreError, causeInWords, errorCodeOf, nullIfMissing } from '../../lib/errno.ts';
import { ensureDirectory, syncDirectory } from '../../lib/files.ts';

/** Drafts that a killed backup left. Only drafts that are certainly abandoned are removed. */
type Leftovers = { removed: string[]; kept: string[] };

/** A folder or bucket that holds backups. Functions fail with BackupStoreError if it cannot be used. */
export type BackupStore = {
  /** The path or address of a backup, for the operator. */
  locate(name: string): string;
  /**
   * Writes a backup, complete or not at all.
   * @param produce writes and ends the stream; its failure is passed on
   * @returns the size in bytes
   */
  write(name: string, produce: (target: Writable) => Promise<void>): Promise<number>;
  /** The content of a backup, which the caller reads to the end or destroys. */
  open(name: string): Promise<Readable>;
  /** The names of all complete files; empty if the folder does not exist. */
  list(): Promise<string[]>;
  /** Null if there is no such backup. */
  sizeOf(name: string): Promise<number | null>;
  /** Removes a backup and its draft, if they exist. */
  remove(name: string): Promise<void>;
  sweep(): Promise<Leftovers>;
};

/** Opens a folder or bucket of backups without accessing it. The S3 client is loaded only for a bucket. */
export const openBackupStore = async (location: StoreLocation): Promise<BackupStore> => {
  if (location.kind === 'folder') return createFolderBackupStore(location.dir);
  const { createS3BackupStore } = await import('./s3-backup-store.ts');
  return createS3BackupStore(location);
};

const PRIVATE_FILE = 0o600;
const DRAFT = /^steward-.+\.tar\.partial$/;
/** A running backup writes at least every few minutes; the longest pause is the count of a large table. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

/** Backups as files of a folder, which is created when it is first written to. */
export const createFolderBackupStore = (dir: string): BackupStore => {
  const pathOf = (name: string): string => join(dir, name);
  const draftOf = (name: string): string => `${pathOf(name)}.partial`;

  return {
    locate: pathOf,

    write: async (name, produce) => {
      await ensureDirectory(dir);
      const draft = draftOf(name);
      try {
        // A stream that opens the file itself would fail before its error is handled.
        const file = await open(draft, 'wx', PRIVATE_FILE);
        await produce(file.createWriteStream({ flush: true })).finally(() => file.close());
        const { size } = await stat(draft);
        await rename(draft, pathOf(name));
        await syncDirectory(dir);
        return size;
      } catch (error) {
        if (!DISK_FAILURES.has(errorCodeOf(error) ?? '')) throw error;
        const line = `The backup cannot be written to ${dir}: ${causeInWords(error)}. Nothing was left there.`;
        throw new BackupStoreError(line, { cause: error });
      } finally {
        await rm(draft, { force: true });
      }
    },

    open: async (name) => {
      // A file that cannot be opened is reported as such, not as damaged.
      await access(pathOf(name), constants.R_OK);
      return createReadStream(pathOf(name));
    },

    list: async () => (await nullIfMissing(readdir(dir))) ?? [],

    sizeOf: async (name) => (await nullIfMissing(stat(pathOf(name))))?.size ?? null,

    remove: async (name) => {
      await rm(pathOf(name), { force: true });
      await rm(draftOf(name), { force: true });
    },

    sweep: async () => {
      const found: Leftovers = { removed: [], kept: [] };
      for (const name of (await nullIfMissing(readdir(dir))) ?? []) {
        if (!DRAFT.test(name)) continue;
        const draft = await nullIfMissing(stat(pathOf(name)));
        if (!draft) continue;
        const isAbandoned = systemClock.now().getTime() - draft.mtimeMs > ABANDONED_MS;
        if (isAbandoned) await rm(pathOf(name), { force: true });
        found[isAbandoned ? 'removed' : 'kept'].push(pathOf(name));
      }
      return found;
    },
  };
};

/** Other failures are the database's, which produces the backup; they are passed on. */
const DISK_FAILURES = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EACCES', 'EROFS']);
