import { randomBytes } from 'node:crypto';
import type { BackupStore } from '../adapters/backup-store/backup-store.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import type { Connection } from '../config/connection.ts';
import { openUnlimitedSession } from '../db/single-client.ts';
import { latestPossible } from '../lib/clock.ts';
import { type BackupTotals, createBackup } from './create-backup.ts';
import { sealKey } from './sealed-key.ts';

/** The name of a new backup. The random part keeps installations apart that share a target. */
export const newBackupName = (now: Date): string =>
  `steward-${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z-${randomBytes(3).toString('hex')}.tar`;

const NAME = /^steward-(\d{8}T\d{6})Z-[0-9a-f]{6}\.tar$/;

/** The newest backup among these file names; null if there is none. Those of the future come last: the clock was ahead. */
export const newestBackup = (names: readonly string[], now: Date): string | null => {
  const latest = newBackupName(latestPossible(now)).slice(0, -'-000000.tar'.length);
  const backups = names.filter((name) => NAME.test(name)).sort();
  return backups.findLast((name) => name.slice(0, latest.length) <= latest) ?? backups.at(-1) ?? null;
};

type Options = {
  connection: Connection;
  packages: Pick<PackageStore, 'list' | 'open'>;
  version: string;
  now: Date;
  /** Null: the backup holds no key. */
  key: { secretKey: string; passphrase: string } | null;
  withHistory?: boolean;
  onTable?: (total: number) => void;
  /** Ends the backup, which then fails. */
  signal?: AbortSignal;
};

export type WrittenBackup = BackupTotals & { sizeBytes: number };

/** Writes a backup to a store, complete or not at all. */
export const writeBackup = async (
  target: BackupStore,
  name: string,
  { connection, packages, version, now, key, withHistory = false, onTable = () => {}, signal }: Options,
): Promise<WrittenBackup> => {
  const sealedKey = key && (await sealKey(key.secretKey, key.passphrase));
  const client = await openUnlimitedSession(connection);
  const abort = (): void => void client.end();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    signal?.throwIfAborted();
    const totals: BackupTotals = { tables: 0, rows: 0, packages: 0 };
    const sizeBytes = await target.write(name, async (stream) => {
      Object.assign(
        totals,
        await createBackup(stream, { client, packages, version, now, sealedKey, withHistory, onTable }),
      );
    });
    return { ...totals, sizeBytes };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
    await client.end();
  }
};
