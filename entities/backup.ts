import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/** A scheduled backup of this installation. Backups do not hold this table: a restored copy must not remove archives. */
export const Backup = defineEntity({
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
    error: p.string().length(500).nullable(),
    sizeBytes: p.bigint('number').nullable(),
    rowCount: p.bigint('number').nullable(),
    /** When the retention removed the archive. */
    removedAt: instant().nullable(),
  },
});
