import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

const MAX_ERROR_LENGTH = 500;

/** A scheduled backup of this installation. Backups do not contain this table: a restored copy must not remove archives. */
export const BackupSchema = defineEntity({
  name: 'Backup',
  tableName: 'backups',
  indexes: [{ properties: ['startedAt'] }],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    /** The folder or bucket. */
    target: p.string().length(1024),
    name: p.string().length(100),
    startedAt: instant(),
    /** Null while it runs, and if it failed. */
    finishedAt: instant().nullable(),
    failedAt: instant().nullable(),
    error: p.string().length(MAX_ERROR_LENGTH).nullable(),
    sizeBytes: p.bigint('number').nullable(),
    rowCount: p.bigint('number').nullable(),
    /** When the retention removed the archive. */
    removedAt: instant().nullable(),
  },
});

export class Backup extends BackupSchema.class {
  succeed(at: Date, { sizeBytes, rows }: { sizeBytes: number; rows: number | null }): void {
    this.finishedAt = at;
    this.sizeBytes = sizeBytes;
    this.rowCount = rows;
  }

  fail(at: Date, reason: string): void {
    this.failedAt = at;
    this.error = reason.slice(0, MAX_ERROR_LENGTH).toWellFormed();
  }
}
BackupSchema.setClass(Backup);
