import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/** A rollup of the usage log: one app on one UTC day. It names nobody, and outlives the log. */
export const UsageAppDaySchema = defineEntity({
  name: 'UsageAppDay',
  tableName: 'usage_app_days',
  primaryKeys: ['app', 'day'],
  properties: {
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
    day: p.date().primary(),
    actions: p.bigint('number').check('actions >= 0'),
    /**
     * At place k (1 to 90): how many of the day's people were not there on any of the k - 1 days before. At 1
     * these are all of them. The number of different people in a window of up to 90 days is the sum over its days,
     * each at the place that counts from the beginning of the window.
     */
    retentionHistogram: p
      .array((text) => Number(text))
      .columnType('int[]')
      .check('cardinality(retention_histogram) = 90'),
  },
});

export class UsageAppDay extends UsageAppDaySchema.class {}
UsageAppDaySchema.setClass(UsageAppDay);
