import { defineEntity, p } from '@mikro-orm/core';
import { index, instant } from './columns.ts';

/**
 * The erasure of a person. While it is unfinished, the row holds what the remaining work looks for, so that any instance can
 * continue it. Afterwards it holds only the pseudonym, and a keyed digest of the address: late reports about the person are
 * recorded under the pseudonym.
 */
export const ErasureSchema = defineEntity({
  name: 'Erasure',
  tableName: 'erasures',
  indexes: [index('erasures_unfinished', 'erasures (id) where finished_at is null')],
  checks: [{ name: 'erasures_finished_check', expression: '(finished_at is null) = (address is not null)' }],
  properties: {
    id: p.integer().primary().autoincrement(),
    userId: p.integer(),
    /** A person who had several addresses has an erasure for each of them. */
    pseudonym: p.string().length(254).index(),
    /** In the rows of these clients only; null: of all. */
    clientIds: p.array(Number).columnType('int[]').nullable(),
    /** When the address named the person, if it has named others before or since. */
    since: instant().nullable(),
    until: instant().nullable(),
    /** HMAC-SHA-256 of the address. Null if it was recorded under no client that may know. */
    digest: p.string().length(64).nullable().index(),
    /**
     * Clients that had the person or had recorded the address, and so may see that it was erased. Those that have learned of a later
     * erasure of the address, because the person had a new account, are only there.
     */
    knownTo: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    startedAt: instant(),
    finishedAt: instant().nullable(),
    address: p.string().length(254).nullable(),
    /** Regular expression that finds the address, the handle and the full name, or some of them, in texts. */
    pattern: p.text().nullable(),
    /** `LIKE` patterns in lower case, one of which a text must match, too. They are tested 20 times faster. */
    needles: p.array().columnType('text[]').nullable(),
    /** The transaction that replaced the account: those that ran at the same time may still write the address. */
    transactionId: p.text().nullable(),
    /** The table whose texts are being searched, and the number of its pages that are done. */
    scannedTable: p.string().length(63).nullable(),
    scannedBlock: p.bigint('number').defaultRaw('0'),
  },
});

export class Erasure extends ErasureSchema.class {
  /** @param pages the number of pages of the table that are done */
  searched(table: string, pages: number): void {
    this.scannedTable = table;
    this.scannedBlock = pages;
  }

  /** Forgets whom the work was about. */
  finish(at: Date): void {
    this.address = null;
    this.pattern = null;
    this.needles = null;
    this.transactionId = null;
    this.scannedTable = null;
    this.finishedAt = at;
  }
}
ErasureSchema.setClass(Erasure);
