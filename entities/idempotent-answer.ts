import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './instant.ts';

/**
 * The first answer to a request that named itself by an `Idempotency-Key`. Written in the transaction of what the
 * request did: a repeat finds both or neither.
 */
export const IdempotentAnswerSchema = defineEntity({
  name: 'IdempotentAnswer',
  tableName: 'idempotent_answers',
  primaryKeys: ['userId', 'key'],
  indexes: [{ properties: ['createdAt'] }],
  properties: {
    /** No reference: it would lock the user's row for as long as the request takes. Users are never removed. */
    userId: p.integer().primary(),
    key: p.string().length(255).primary(),
    /** hex HMAC-SHA-256 of the operation and its input: the same key for another request is a mistake. */
    fingerprint: p.string().length(64),
    /** AES-256-GCM: it may hold a token or a link. Null only within the transaction of the work. */
    answer: p.blob().nullable(),
    createdAt: instant(),
    /** The caller's roles at that time: a caller who has lost one of them does not get the answer again. */
    isSuperuser: p.boolean().default(false),
    isStaff: p.boolean().default(false),
    adminOf: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
  },
});

export class IdempotentAnswer extends IdempotentAnswerSchema.class {}
IdempotentAnswerSchema.setClass(IdempotentAnswer);
