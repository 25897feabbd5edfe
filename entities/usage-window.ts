import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/**
 * Usage of an app in the 30, 60 and 90 days up to and including `day`. Updated whenever usage is recorded; the first read
 * on a new day recomputes it.
 */
export const UsageWindowSchema = defineEntity({
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

export class UsageWindow extends UsageWindowSchema.class {}
UsageWindowSchema.setClass(UsageWindow);
