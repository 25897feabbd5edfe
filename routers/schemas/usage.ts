import { z } from 'zod';
import { opaque } from '../../src/lib/json-value.ts';
import { type SanitizedExtra, sanitizeExtra } from '../../src/services/usage/usage-extra.ts';
import type { SubmittedEntry as Submitted } from '../../src/services/usage/usage-recording.ts';
import { USAGE_INTERVALS } from '../../src/services/usage/usage-report.ts';
import type { UsageCursor, UsageEncoder, UsageRow } from '../../src/services/usage/usage-rows.ts';
import {
  AnyObject,
  AppKey,
  BodyInstant,
  Email,
  EmailKey,
  Id,
  Instant,
  Output,
  outputOf,
  Text,
} from './fields.ts';
import { pageNumberFields } from './paging.ts';
import { createRowEncoder, type ListFormat } from './row-encoder.ts';

export const UsageEntryOutput = Output('UsageEntry', {
  action_description: z.string(),
  email: z.string(),
  full_name: z.string(),
  timestamp: Instant,
  action: z.string(),
  extra: AnyObject,
});
type UsageEntryOutput = z.input<typeof UsageEntryOutput>;

const readEntry = (entry: UsageRow) => ({
  ...entry,
  timestamp: entry.occurred_at,
  extra: opaque(JSON.parse(entry.extra)),
});

export const usageEntryOutput = (entry: UsageRow) => outputOf(UsageEntryOutput, readEntry(entry));

/** As `usageEntryOutput`. */
export const usageEncoder = (format: ListFormat): UsageEncoder => createRowEncoder(UsageEntryOutput, format);

/** An entry of a list that was streamed as JSON. */
export const usageEntryFromJson = (entry: UsageEntryOutput & { timestamp: string }): UsageEntryOutput => ({
  ...entry,
  timestamp: new Date(entry.timestamp),
  extra: opaque(entry.extra),
});

/** A usage entry in a paged list. */
export const UsageItemOutput = UsageEntryOutput.extend({ id: z.int() });

export const usageItemOutput = (entry: UsageRow) => outputOf(UsageItemOutput, readEntry(entry));

/** Usage of one UTC day. */
export const UsageDayOutput = Output('UsageDay', { day: z.string(), actions: z.int(), users: z.int() });
export const TopUserOutput = z.object({
  email: z.string(),
  full_name: z.string(),
  actions: z.int(),
  days: z.int(),
});
export const TopStackOutput = z.object({ stack: z.string(), label: z.string(), actions: z.int() });

/** The cursor of a page: time and id of its last entry. */
export const usageCursor = ({ occurredAt, id }: UsageCursor): string => `${occurredAt.getTime()}.${id}`;

export const UsageCursorKey = z
  .string()
  .regex(/^\d{1,14}\.\d{1,15}$/, 'Must be the next_cursor of a previous page.')
  .transform((text): UsageCursor => {
    const [time = '', id = ''] = text.split('.');
    return { occurredAt: new Date(Number(time)), id: Number(id) };
  });

const Action = z
  .string()
  .max(64)
  .regex(/^[A-Z][A-Z0-9_]*$/, 'Must be upper-case words, such as STACK_ACCESS.');

/** Any JSON object of at most 64 KiB. */
const UsageExtra = z
  .custom<Record<string, unknown>>()
  .default({})
  .transform((value, context): SanitizedExtra => {
    const result = sanitizeExtra(value);
    if ('kept' in result) return result.kept;
    for (const [field, [message]] of Object.entries(result.faults)) {
      context.addIssue({ code: 'custom', message, path: field.split('.').slice(1) });
    }
    return z.NEVER;
  })
  .meta({ json: { type: 'object', additionalProperties: true, default: {} } });

const MAX_ENTRIES_PER_REQUEST = 10_000;

/** Many serializers send `null` for a missing value. */
const SubmittedEntry = z.object({
  /** The platform's own id. An entry with the same id and timestamp is written once. */
  id: Text(128).min(1).nullable().default(null),
  email: Email,
  /** Default: the user's current name. */
  full_name: Text(301).nullable().default(null),
  /** Default: now. */
  timestamp: BodyInstant.nullable().default(null),
  action: Action,
  action_description: Text(10_000)
    .nullish()
    .transform((text) => text ?? ''),
  extra: UsageExtra,
});

const toSubmitted = ({ extra, ...entry }: z.output<typeof SubmittedEntry>): Submitted => ({
  entryKey: entry.id,
  email: entry.email,
  fullName: entry.full_name,
  action: entry.action,
  actionDescription: entry.action_description,
  stack: extra.stack,
  extra: extra.text,
  occurredAt: entry.timestamp,
});

/** The number of entries is checked before the entries, so that a hostile array does not cause millions of errors. */
export const SubmittedEntries = z
  .array(z.custom<z.input<typeof SubmittedEntry>>().meta({ sent: SubmittedEntry }))
  .max(MAX_ENTRIES_PER_REQUEST)
  .pipe(z.array(SubmittedEntry.transform(toSubmitted)));

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
