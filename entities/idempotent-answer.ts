import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './instant.ts';
import { User } from './user.ts';

/**
 * The first answer to a request that named itself by an `Idempotency-Key`. Written in the transaction of what the
 * request did: a repeat finds both or neither.
 */
export const IdempotentAnswerSchema = defineEntity({
  name: 'IdempotentAnswer',
  tableName: 'idempotent_answers',
  primaryKeys: ['user', 'key'],
  indexes: [{ properties: ['createdAt'] }],
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').updateRule('no action'),
    key: p.string().length(255).primary(),
    /** hex SHA-256 of the operation and its input: the same key for another request is a mistake. */
    fingerprint: p.string().length(64),
    answer: p.json<unknown>().columnType('json').nullable(),
    createdAt: instant(),
  },
});

export class IdempotentAnswer extends IdempotentAnswerSchema.class {}
IdempotentAnswerSchema.setClass(IdempotentAnswer);
