import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/**
 * Usage totals of one user in one app on one UTC day. Partitioned by month of `day` and dropped together with the log.
 * Like the log, it has no foreign key.
 */
export const UsageDaySchema = defineEntity({
  name: 'UsageDay',
  tableName: 'usage_days',
  primaryKeys: ['app', 'email', 'day'],
  properties: {
    app: () => p.manyToOne(App).primary().createForeignKeyConstraint(false),
    email: p.string().length(254).primary(),
    day: p.date().primary(),
    actions: p.integer().check('actions > 0'),
  },
});

export class UsageDay extends UsageDaySchema.class {}
UsageDaySchema.setClass(UsageDay);
