import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/**
 * A rollup of the usage log: what one person did in one app on one UTC day. Partitioned by month of `day` and
 * dropped with the log. Without a foreign key, as the log.
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
