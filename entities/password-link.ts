import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { User } from './user.ts';

/**
 * A mailed single-use link that sets a password. The row holds no secret: the link is signed with the key of the service.
 * Any change of the password deletes the row.
 */
export const PasswordLink = defineEntity({
  name: 'PasswordLink',
  tableName: 'password_links',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    createdAt: instant(),
    expiresAt: instant().index(),
  },
});
