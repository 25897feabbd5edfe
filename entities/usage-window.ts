import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/**
 * The usage that an app shows: of the 30, 60 and 90 days up to and including `day`. Updated by every write of usage; the
 * first read of a new day brings it forward.
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
