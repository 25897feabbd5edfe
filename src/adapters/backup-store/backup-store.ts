import type { Readable, Writable } from 'node:stream';

/** Drafts that a killed backup left: those that are certainly abandoned were removed. */
export type Leftovers = { removed: string[]; kept: string[] };

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
