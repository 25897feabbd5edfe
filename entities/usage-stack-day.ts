import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/** Usage totals of one stack of an app on one UTC day. They hold no personal data and outlive the log. */
export const UsageStackDaySchema = defineEntity({
  name: 'UsageStackDay',
  tableName: 'usage_stack_days',
  primaryKeys: ['app', 'day', 'stack'],
  properties: {
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
    day: p.date().primary(),
    /** As in the log: usually the id of a stack, which may no longer exist. */
    stack: p.string().length(255).primary(),
    actions: p.bigint('number').check('actions > 0'),
  },
});

export class UsageStackDay extends UsageStackDaySchema.class {}
UsageStackDaySchema.setClass(UsageStackDay);
