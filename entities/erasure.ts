import { defineEntity, p } from '@mikro-orm/core';
import { index, instant } from './columns.ts';

/**
 * The erasure of a person. Until it is finished, the row holds their addresses, so that any instance can continue it. Afterwards it holds
 * only the pseudonym and keyed digests of the addresses, by which late usage reports are recorded under the pseudonym.
 */
export const ErasureSchema = defineEntity({
  name: 'Erasure',
  tableName: 'erasures',
  indexes: [
    index('erasures_unfinished', 'erasures (id) where finished_at is null'),
    index('erasures_digests', 'erasures using gin (digests)'),
  ],
  checks: [
    { name: 'erasures_finished_check', expression: '(finished_at is null) = (addresses is not null)' },
  ],
  properties: {
    id: p.integer().primary().autoincrement(),
    /** Null for an address that has no account. */
    userId: p.integer().nullable(),
    pseudonym: p.string().length(254),
    /** HMAC-SHA-256 of each address. */
    digests: p.array().columnType('varchar(64)[]'),
    startedAt: instant(),
    finishedAt: instant().nullable(),
    addresses: p.array().columnType('varchar(254)[]').nullable(),
    /**
     * Transactions before this one may have begun before the erasure, and may still write the address. Null until the step after the first
     * one.
     */
    untilTransaction: p.text().nullable(),
  },
});

export class Erasure extends ErasureSchema.class {
  /** Clears the addresses of the erased person. */
  finish(at: Date): void {
    this.addresses = null;
    this.untilTransaction = null;
    this.finishedAt = at;
  }
}
ErasureSchema.setClass(Erasure);
