import { defineEntity, p } from '@mikro-orm/core';
import { Client } from './client.ts';
import { instant, jsonObject } from './columns.ts';
import { User } from './user.ts';

/** The lists of the console that have saved views. */
export const LISTS = ['people', 'apps', 'audit', 'mails'] as const;
export type List = (typeof LISTS)[number];

/** A named search of a list: its filters, columns and order. */
export const ListView = defineEntity({
  name: 'ListView',
  tableName: 'list_views',
  indexes: [{ properties: ['user'] }, { properties: ['client'] }],
  checks: [{ name: 'list_views_check', expression: 'not is_shared or client_id is not null' }],
  properties: {
    id: p.integer().primary().autoincrement(),
    /** The author. */
    user: () => p.manyToOne(User).deleteRule('cascade').updateRule('no action'),
    /** The client whose rows it lists; null: of all clients. */
    client: () => p.manyToOne(Client).nullable().deleteRule('cascade').updateRule('no action'),
    list: p.enum(LISTS),
    name: p.string().length(100).check(`name <> ''`),
    /** As in the address of the list, without the client. */
    search: jsonObject(),
    /** Whether all who see the list in the client see it, not only the author. */
    isShared: p.boolean().default(false),
    createdAt: instant(),
    modifiedAt: instant(),
  },
});

/** Shows a view in the navigation of a user. */
export const ListViewPin = defineEntity({
  name: 'ListViewPin',
  tableName: 'list_view_pins',
  properties: {
    listView: () => p.manyToOne(ListView).primary().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).primary().index().deleteRule('cascade').updateRule('no action'),
  },
});
