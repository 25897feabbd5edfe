import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/**
 * What an app shows of its use: the 30 days up to `day`, the 30 before those, and the 30 before those. Kept ready by
 * whoever writes usage; the first reader of a new day brings it forward.
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
