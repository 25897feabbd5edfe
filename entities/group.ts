import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { Client } from './client.ts';
import { index, instant, roleKeys } from './columns.ts';
import { User } from './user.ts';

/** A team of a client, whose members have its apps as long as they are active members of the client. */
export const Group = defineEntity({
  name: 'Group',
  tableName: 'groups',
  // Not unique: an erasure may give several names the same pseudonym.
  indexes: [index('groups_name', 'groups (client_id, lower(name))')],
  properties: {
    id: p.integer().primary().autoincrement(),
    client: () => p.manyToOne(Client).deleteRule('cascade').updateRule('no action'),
    name: p.string().length(100).check(`name <> ''`),
    /** Data permissions of its members; null: none. */
    attributes: p.json<Record<string, unknown>>().columnType('json').nullable(),
    /** Among several groups of a person, the value of the one with the lowest rank counts, then of the oldest. */
    rank: p.integer().default(0),
    createdAt: instant(),
  },
});

export const GroupMember = defineEntity({
  name: 'GroupMember',
  tableName: 'group_members',
  properties: {
    group: () => p.manyToOne(Group).primary().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).primary().index().deleteRule('cascade').updateRule('no action'),
    /** The user who added them. No foreign key: see `AppGrant.grantedBy`. */
    addedBy: p.integer().nullable(),
    addedAt: instant(),
  },
});

/** Gives an app to the members of a group. */
export const GroupApp = defineEntity({
  name: 'GroupApp',
  tableName: 'group_apps',
  properties: {
    group: () => p.manyToOne(Group).primary().deleteRule('cascade').updateRule('no action'),
    app: () => p.manyToOne(App).primary().index().deleteRule('cascade').updateRule('no action'),
    addedBy: p.integer().nullable(),
    addedAt: instant(),
    appRoles: roleKeys(),
  },
});
