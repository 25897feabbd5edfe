import { defineEntity, p } from '@mikro-orm/core';
import { index, instant } from './columns.ts';

/**
 * The erasure of a person. While it is unfinished, the row holds their addresses, so that any instance can continue the work. Afterwards it
 * holds only the pseudonym, and keyed digests of the addresses: late reports of usage are recorded under the pseudonym.
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
    /** Transactions before this one may have begun before the erasure, and write the address. Null until the first step after it. */
    untilTransaction: p.text().nullable(),
  },
});

export class Erasure extends ErasureSchema.class {
  /** Forgets whom the work was about. */
  finish(at: Date): void {
    this.addresses = null;
    this.untilTransaction = null;
    this.finishedAt = at;
  }
}
ErasureSchema.setClass(Erasure);
