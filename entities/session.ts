import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './instant.ts';
import { User } from './user.ts';

/** A login by browser. The cookie's value itself is nowhere: only its SHA-256 is kept. */
export const SessionSchema = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    /** SHA-256 of the cookie's value, 64 hexadecimal characters. */
    digest: p.string().length(64).unique().hidden(),
    createdAt: instant(),
    /** When its user last entered their password. */
    authenticatedAt: instant(),
    /** The end of its absolute lifetime, by the database's clock. It may end earlier, when nobody uses it. */
    expiresAt: instant(),
    lastUsed: instant(),
    /** Network address of the last use. */
    lastAddress: p.string().length(45).default(''),
    userAgent: p.string().length(255).default(''),
  },
});

export class Session extends SessionSchema.class {}
SessionSchema.setClass(Session);
