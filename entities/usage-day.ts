import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/** The rollup of the usage log: what one person did in one app on one UTC day. Windows are summed from here. */
export const UsageDaySchema = defineEntity({
  name: 'UsageDay',
  tableName: 'usage_days',
  primaryKeys: ['app', 'day', 'email'],
  properties: {
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
    day: p.date().primary(),
    email: p.string().length(254).primary(),
    actions: p.integer().check('actions > 0'),
  },
});

export class UsageDay extends UsageDaySchema.class {}
UsageDaySchema.setClass(UsageDay);
