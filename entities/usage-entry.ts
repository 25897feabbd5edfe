import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { instant, jsonObject } from './columns.ts';

/**
 * An action of a user in an app, with the user's name at that time. The table is partitioned by month of `occurredAt`, so
 * that column is part of every key. It has no foreign key: checking it would cost more than the insert itself, and
 * dropping a partition would lock `apps`.
 */
export const UsageEntry = defineEntity({
  name: 'UsageEntry',
  tableName: 'usage_entries',
  primaryKeys: ['app', 'occurredAt', 'id'],
  indexes: [
    { properties: ['app', 'email', 'occurredAt', 'id'] },
    { properties: ['email', 'occurredAt', 'id'] },
    {
      name: 'usage_entries_entry_key',
      expression: `create unique index usage_entries_entry_key on usage_entries (app_id, entry_key, occurred_at) where entry_key is not null`,
    },
  ],
  properties: {
    app: () => p.manyToOne(App).primary().createForeignKeyConstraint(false),
    occurredAt: instant().primary(),
    id: p.bigint('number').primary().autoincrement(),
    /** The platform's own id of the entry, if it has one: sent again, with the same time, it is not written again. */
    entryKey: p.string().length(128).nullable(),
    email: p.string().length(254),
    fullName: p.string().length(301).default(''),
    action: p.string().length(64).check(`action ~ '^[A-Z][A-Z0-9_]*$'`),
    actionDescription: p.text().default(''),
    /** `extra.stack`, the key of the totals by stack; null if it is missing or not a valid name. */
    stack: p.string().length(255).nullable(),
    extra: jsonObject(),
  },
});
