import { z } from 'zod';
import { USAGE_INTERVALS } from '../../src/services/usage/usage-report.ts';
import { AppKey, EmailKey, Id, Instant, Output, Text } from './fields.ts';
import { pageNumberFields } from './paging.ts';

const MAX_PERIODS = 366;

/** What is counted and how it is grouped. */
export const UsageReportInput = z
  .object({
    app_id: AppKey.optional(),
    client: Id.optional(),
    /** As in the log: usually the id of a stack of the app. */
    stack: Text(255).optional(),
    email: EmailKey.optional(),
    interval: z.enum(USAGE_INTERVALS).default('day'),
    periods: z.int().min(1).max(MAX_PERIODS).default(30),
    ...pageNumberFields,
  })
  .prefault({});

/** Usage of one day, week or month, beside its counterpart. Days are UTC days, the last ones inclusive. */
export const UsagePeriodOutput = Output('UsagePeriod', {
  start: z.string(),
  /** Today at the latest. */
  end: z.string(),
  actions: z.int(),
  /** Null unless the report is of one app. */
  users: z.int().nullable(),
  previous_start: z.string(),
  previous_end: z.string(),
  previous_actions: z.int(),
  previous_users: z.int().nullable(),
  actions_change: z.int(),
  users_change: z.int().nullable(),
});

export const TopAppOutput = Output('TopApp', {
  id: z.string(),
  client: z.int(),
  slug: z.string(),
  label: z.string(),
  actions: z.int(),
});

export const DailyAppUsageOutput = Output('DailyAppUsage', {
  id: z.string(),
  client: z.int(),
  slug: z.string(),
  label: z.string(),
  /** Actions of each day of the window, oldest first. */
  daily_actions: z.array(z.int()),
});

export const IdleAppOutput = Output('IdleApp', {
  id: z.string(),
  client: z.int(),
  slug: z.string(),
  label: z.string(),
  in_maintenance: z.boolean(),
  created_at: Instant,
  /** A UTC day. Null if the app was never used. */
  last_used_day: z.string().nullable(),
});

export const IdleUserOutput = Output('IdleUser', {
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  date_joined: Instant,
  last_login: Instant.nullable(),
  /** A UTC day. Null if no use of an app that you can see is on record. */
  last_used_day: z.string().nullable(),
});
