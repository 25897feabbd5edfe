import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';

/**
 * The response to the first request with an `Idempotency-Key`. Written in the transaction of the request, so that both are committed or
 * neither is. A request of several transactions writes a checkpoint before the first one, and the response after the last one.
 */
export const IdempotentResponse = defineEntity({
  name: 'IdempotentResponse',
  tableName: 'idempotent_responses',
  indexes: [{ properties: ['createdAt'] }],
  properties: {
    /** No foreign key: its check would lock the user's row until the request ends. Users are never deleted. */
    userId: p.integer().primary(),
    /** The client to which the credential was confined; 0: none. */
    confinedTo: p.integer().default(0).primary(),
    key: p.string().length(255).primary(),
    /** HMAC-SHA-256 of the operation and its input, in hex: detects a key that is reused for a different request. */
    fingerprint: p.string().length(64),
    /** Encrypted with AES-256-GCM, because it may contain a token or a link. Null until the request is finished. */
    response: p.blob().nullable(),
    /** The plan of a request of several transactions, from which a repeat continues. Encrypted in the same way. */
    checkpoint: p.blob().nullable(),
    createdAt: instant(),
    /** The caller's roles at that time. A caller who has lost one of them does not get the stored response. */
    isSuperuser: p.boolean().default(false),
    isStaff: p.boolean().default(false),
    adminOf: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    clientRoles: p.json<Record<string, string[]>>().columnType('jsonb').defaultRaw(`'{}'`),
  },
});

/** A rate limit counter. `expire` is in milliseconds since 1970, by the clock of the database. */
export const RateLimit = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limits',
  properties: {
    key: p.string().length(255).primary(),
    points: p.integer().default(0),
    expire: p.bigint('number').nullable().index(),
  },
});
