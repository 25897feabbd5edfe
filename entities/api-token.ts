import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { User } from './user.ts';

/** An API token. Only its SHA-256 is stored. */
export const ApiToken = defineEntity({
  name: 'ApiToken',
  tableName: 'api_tokens',
  indexes: [
    { properties: ['user', 'createdAt'] },
    {
      name: 'api_tokens_user_id_name',
      expression: `create unique index api_tokens_user_id_name on api_tokens (user_id, name) where name <> ''`,
    },
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).deleteRule('cascade').updateRule('no action'),
    /** SHA-256 of the token, 64 hexadecimal characters. */
    digest: p.string().length(64).unique().hidden(),
    /** Empty for tokens that a login creates. */
    name: p.string().length(100).default(''),
    createdAt: instant(),
    lastUsed: instant(),
    /** Network address of the last use. */
    lastAddress: p.string().length(45).default(''),
    /** The end of a refreshed token, by the clock of the database. */
    expiresAt: instant().nullable(),
    /** The token that a refresh issued, sealed with this one. */
    replacement: p.blob().nullable().hidden(),
  },
});
