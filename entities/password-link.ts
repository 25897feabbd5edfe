import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './instant.ts';
import { User } from './user.ts';

/**
 * The right to set a password once, by a link in a mail. The row holds no secret: the link is signed with the
 * service's key. Using it removes the row, and so does any other change of the password.
 */
export const PasswordLinkSchema = defineEntity({
  name: 'PasswordLink',
  tableName: 'password_links',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    createdAt: instant(),
    expiresAt: instant().index(),
  },
});

export class PasswordLink extends PasswordLinkSchema.class {}
PasswordLinkSchema.setClass(PasswordLink);
