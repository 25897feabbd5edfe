import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { User } from './user.ts';

/** A browser session. Only the SHA-256 of its cookie is stored. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    /** SHA-256 of the cookie's value, 64 hexadecimal characters. */
    digest: p.string().length(64).unique().hidden(),
    createdAt: instant(),
    /** When the user last entered the password. */
    authenticatedAt: instant(),
    /** End of the absolute lifetime, by the clock of the database. An idle session ends earlier. */
    expiresAt: instant(),
    lastUsed: instant(),
    /** Network address of the last use. */
    lastAddress: p.string().length(45).default(''),
    userAgent: p.string().length(255).default(''),
  },
});
