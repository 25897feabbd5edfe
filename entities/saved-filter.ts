import { defineEntity, p } from '@mikro-orm/core';
import { Stack } from './app.ts';
import { instant } from './columns.ts';
import { User } from './user.ts';

/** A named set of global filters of a user. */
export const SavedFilter = defineEntity({
  name: 'SavedFilter',
  tableName: 'saved_filters',
  uniques: [{ properties: ['user', 'hash'] }],
  properties: {
    id: p.integer().primary().autoincrement(),
    user: () => p.manyToOne(User).deleteRule('cascade').updateRule('no action'),
    stack: () => p.manyToOne(Stack).index().deleteRule('cascade').updateRule('no action'),
    hash: p.string().length(64).check(`hash ~ '^[A-Za-z0-9_-]{1,64}$'`),
    name: p.string().length(255).check(`name <> ''`),
    created: instant(),
    modified: instant(),
  },
});
