import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/** A rollup of the usage log: one stack of an app on one UTC day. It names nobody, and outlives the log. */
export const UsageStackDaySchema = defineEntity({
  name: 'UsageStackDay',
  tableName: 'usage_stack_days',
  primaryKeys: ['app', 'day', 'stack'],
  properties: {
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
    day: p.date().primary(),
    /** As the log has it: usually the id of a stack, perhaps of one that is no more. */
    stack: p.string().length(255).primary(),
    actions: p.bigint('number').check('actions > 0'),
  },
});

export class UsageStackDay extends UsageStackDaySchema.class {}
UsageStackDaySchema.setClass(UsageStackDay);
