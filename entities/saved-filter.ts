import { defineEntity, p } from '@mikro-orm/core';
import { Stack } from './app.ts';
import { index, instant } from './columns.ts';
import { Group } from './group.ts';
import { User } from './user.ts';

/** A named set of global filters of a user. */
export const SavedFilter = defineEntity({
  name: 'SavedFilter',
  tableName: 'saved_filters',
  uniques: [{ properties: ['user', 'hash'] }],
  indexes: [index('saved_filters_shared', 'saved_filters (id) where is_shared')],
  properties: {
    id: p.integer().primary().autoincrement(),
    user: () => p.manyToOne(User).deleteRule('cascade').updateRule('no action'),
    stack: () => p.manyToOne(Stack).index().deleteRule('cascade').updateRule('no action'),
    hash: p.string().length(64).check(`hash ~ '^[A-Za-z0-9_-]{1,64}$'`),
    name: p.string().length(255).check(`name <> ''`),
    created: instant(),
    modified: instant(),
    /** What the app restores. Null until the app has set it. */
    state: p.json<Record<string, unknown>>().columnType('json').nullable(),
    /** The app's own name for the format of the state. */
    stateVersion: p.string().length(64).default(''),
    description: p.string().length(500).default(''),
    /** Whether it is shared with all who may open the app. */
    isShared: p.boolean().default(false),
  },
});

/** Shares a filter with the members of a group of the app's client. */
export const SavedFilterGroup = defineEntity({
  name: 'SavedFilterGroup',
  tableName: 'saved_filter_groups',
  properties: {
    savedFilter: () => p.manyToOne(SavedFilter).primary().deleteRule('cascade').updateRule('no action'),
    group: () => p.manyToOne(Group).primary().index().deleteRule('cascade').updateRule('no action'),
  },
});

/** The filter with which a stack opens, for a user or for the members of a group. */
export const SavedFilterDefault = defineEntity({
  name: 'SavedFilterDefault',
  tableName: 'saved_filter_defaults',
  uniques: [{ properties: ['stack', 'user'] }, { properties: ['stack', 'group'] }],
  checks: [{ name: 'saved_filter_defaults_check', expression: '(user_id is null) <> (group_id is null)' }],
  properties: {
    id: p.integer().primary().autoincrement(),
    stack: () => p.manyToOne(Stack).deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).nullable().index().deleteRule('cascade').updateRule('no action'),
    group: () => p.manyToOne(Group).nullable().index().deleteRule('cascade').updateRule('no action'),
    savedFilter: () => p.manyToOne(SavedFilter).index().deleteRule('cascade').updateRule('no action'),
  },
});
