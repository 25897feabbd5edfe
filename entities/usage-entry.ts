import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { freeForm, instant } from './instant.ts';

/**
 * One thing somebody did in an app, with the names they had at that time.
 * The table is partitioned by month of `occurredAt`, which is why that is part of its key.
 */
export const UsageEntrySchema = defineEntity({
  name: 'UsageEntry',
  tableName: 'usage_entries',
  primaryKeys: ['id', 'occurredAt'],
  indexes: [{ properties: ['app', 'occurredAt', 'id'] }, { properties: ['email', 'app', 'occurredAt'] }],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    occurredAt: instant().primary(),
    app: () => p.manyToOne(App).deleteRule('cascade').updateRule('no action'),
    email: p.string().length(254),
    fullName: p.string().length(301).default(''),
    action: p.string().length(64).check(`action ~ '^[A-Z][A-Z0-9_]*$'`),
    actionDescription: p.text().default(''),
    extra: freeForm(),
  },
});

export class UsageEntry extends UsageEntrySchema.class {}
UsageEntrySchema.setClass(UsageEntry);
