import { defineEntity, p } from '@mikro-orm/core';
import { Client } from './client.ts';
import { instant } from './columns.ts';
import { User } from './user.ts';

/** Membership of a user in a client, optionally as its admin. */
export const Membership = defineEntity({
  name: 'Membership',
  tableName: 'memberships',
  primaryKeys: ['client', 'user'],
  indexes: [
    {
      name: 'memberships_admins',
      expression: `create index memberships_admins on memberships (user_id, client_id) where is_admin`,
    },
  ],
  properties: {
    client: () => p.manyToOne(Client).primary().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).primary().index().deleteRule('cascade').updateRule('no action'),
    isAdmin: p.boolean().default(false),
    /** Passwords do not expire by the policy of the client before this time: the mail that announces it was sent too late. */
    passwordExpiryFrom: instant().nullable(),
  },
});
