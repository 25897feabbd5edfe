import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { instant, jsonObject, uniqueIndex } from './columns.ts';

/**
 * An action of a user in an app, with the user's name at that time. The table is partitioned by month of `occurredAt`, so this column is
 * part of every key. It has no foreign key: its check would cost more than the insert, and dropping a partition would lock `apps`.
 */
export const UsageEntry = defineEntity({
  name: 'UsageEntry',
  tableName: 'usage_entries',
  indexes: [
    { properties: ['app', 'userId', 'occurredAt', 'id'] },
    { properties: ['email', 'occurredAt', 'id'] },
    { properties: ['userId', 'occurredAt', 'id'] },
    uniqueIndex(
      'usage_entries_entry_key',
      'usage_entries (app_id, entry_key, occurred_at) where entry_key is not null',
    ),
  ],
  properties: {
    app: () => p.manyToOne(App).primary().createForeignKeyConstraint(false),
    occurredAt: instant().primary(),
    id: p.bigint('number').primary().autoincrement(),
    /** The platform's own id of the entry, if any. An entry with the same id and time is written once. */
    entryKey: p.string().length(128).nullable(),
    /** The account that had the address when the entry was written. A later account with this address does not get earlier entries. */
    userId: p.integer().nullable(),
    /** The address as reported; empty without a person. */
    email: p.string().length(254),
    fullName: p.string().length(301).default(''),
    action: p.string().length(64).check(`action ~ '^[A-Z][A-Z0-9_]*$'`),
    actionDescription: p.text().default(''),
    /** `extra.stack`, by which totals are grouped; null if it is missing or not a valid name. */
    stack: p.string().length(255).nullable(),
    extra: jsonObject(),
  },
});

/**
 * Usage totals of one person in one app on one UTC day. The person is an account, or an address without an account. Partitioned by month of
 * `day`, dropped together with the log. Like the log, it has no foreign key.
 */
export const UsageDay = defineEntity({
  name: 'UsageDay',
  tableName: 'usage_days',
  indexes: [{ properties: ['userId', 'email', 'day'] }],
  properties: {
    app: () => p.manyToOne(App).primary().createForeignKeyConstraint(false),
    /** 0: no account. */
    userId: p.integer().primary().default(0),
    /** Empty for an account. */
    email: p.string().length(254).primary().default(''),
    day: p.date().primary(),
    actions: p.integer().check('actions > 0'),
  },
});

/** Usage totals of one app on one UTC day. They hold no personal data and outlive the log. */
export const UsageAppDay = defineEntity({
  name: 'UsageAppDay',
  tableName: 'usage_app_days',
  properties: {
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
    day: p.date().primary(),
    actions: p.bigint('number').check('actions >= 0'),
    /**
     * Element k (1 to 90) counts the users of this day who were not active on any of the k - 1 days before; element 1 counts
     * all users. The number of distinct users in a window of up to 90 days is the sum over its days, where day k of the
     * window contributes its element k.
     */
    retentionHistogram: p.array(Number).columnType('int[]').check('cardinality(retention_histogram) = 90'),
  },
});

/** Usage totals of one stack of an app on one UTC day. They hold no personal data and outlive the log. */
export const UsageStackDay = defineEntity({
  name: 'UsageStackDay',
  tableName: 'usage_stack_days',
  properties: {
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
    day: p.date().primary(),
    /** As in the log: usually the id of a stack, which may no longer exist. */
    stack: p.string().length(255).primary(),
    actions: p.bigint('number').check('actions > 0'),
  },
});

/**
 * Usage of an app in the 30, 60 and 90 days up to and including `day`. Updated whenever usage is recorded; the first read
 * on a new day recomputes it.
 */
export const UsageWindow = defineEntity({
  name: 'UsageWindow',
  tableName: 'usage_windows',
  properties: {
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
    day: p.date(),
    actions30: p.bigint('number'),
    users30: p.integer(),
    actions60: p.bigint('number'),
    users60: p.integer(),
    actions90: p.bigint('number'),
    users90: p.integer(),
  },
});
