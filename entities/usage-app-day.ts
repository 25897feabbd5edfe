import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/** Usage totals of one app on one UTC day. They hold no personal data and outlive the log. */
export const UsageAppDaySchema = defineEntity({
  name: 'UsageAppDay',
  tableName: 'usage_app_days',
  primaryKeys: ['app', 'day'],
  properties: {
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
    day: p.date().primary(),
    actions: p.bigint('number').check('actions >= 0'),
    /**
     * Element k (1 to 90) counts the users of this day who were not active on any of the k - 1 days before; element 1 counts
     * all users. The number of distinct users in a window of up to 90 days is the sum over its days, where day k of the
     * window contributes its element k.
     */
    retentionHistogram: p
      .array((text) => Number(text))
      .columnType('int[]')
      .check('cardinality(retention_histogram) = 90'),
  },
});

export class UsageAppDay extends UsageAppDaySchema.class {}
UsageAppDaySchema.setClass(UsageAppDay);
