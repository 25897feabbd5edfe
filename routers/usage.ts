import { z } from 'zod';
import { freeForm } from '../src/lib/json-value.ts';
import type { Actor } from '../src/services/access/actor.ts';
import type { Services } from '../src/services/index.ts';
import type { UsageCursor, UsageEncoder, UsageStreamFilter } from '../src/services/usage/usage.ts';
import { type SanitizedExtra, sanitizeExtra } from '../src/services/usage/usage-extra.ts';
import type { SubmittedEntry as Submitted } from '../src/services/usage/usage-recording.ts';
import type { Context } from './context.ts';
import { routesOf } from './procedure-meta.ts';
import {
  BodyInstant,
  Email,
  InstantKey,
  OptionalInput,
  Text,
  UsageWindow,
  WindowDays,
} from './schemas/fields.ts';
import { AppKey, EmailKey } from './schemas/keys.ts';
import { type PagingInput, pageNumberFields, pagesOf, parsePages, toPageRequest } from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { createRowEncoder, type ListFormat } from './schemas/row-encoder.ts';
import { allowedTo, router, viewerProcedure } from './trpc.ts';
import { usageReportProcedures } from './usage-reports.ts';

const UsageEntryOutput = Output('UsageEntry', {
  action_description: z.string().meta({ examples: ['Opened Overview of Sales'] }),
  email: z.string(),
  full_name: z.string(),
  timestamp: Instant,
  action: z.string(),
  extra: AnyObject,
});
type UsageEntryOutput = z.input<typeof UsageEntryOutput>;

export const usageEncoder = (format: ListFormat): UsageEncoder => createRowEncoder(UsageEntryOutput, format);

/** An entry of a list that was streamed as JSON. */
const usageEntryFromJson = (entry: UsageEntryOutput & { timestamp: string }): UsageEntryOutput => ({
  ...entry,
  timestamp: new Date(entry.timestamp),
  extra: freeForm(entry.extra),
});

/** A usage entry in a paged list. */
const UsageItemOutput = UsageEntryOutput.extend({ id: z.int() });

/** Usage of one UTC day. */
const UsageDayOutput = Output('UsageDay', { day: z.string(), actions: z.int(), users: z.int() });
const TopUserOutput = z.object({
  email: z.string(),
  full_name: z.string(),
  actions: z.int(),
  days: z.int(),
});
const TopStackOutput = z.object({ stack: z.string(), label: z.string(), actions: z.int() });

/** The cursor of a page: time and id of its last entry. */
const usageCursor = ({ occurredAt, id }: UsageCursor): string => `${occurredAt.getTime()}.${id}`;

const UsageCursorKey = z
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

/** The number of entries is checked before the entries: a hostile array must not cause millions of errors. */
const SubmittedEntries = z
  .array(z.custom<z.input<typeof SubmittedEntry>>().meta({ sent: SubmittedEntry }))
  .max(MAX_ENTRIES_PER_REQUEST)
  .pipe(z.array(SubmittedEntry.transform(toSubmitted)));

const route = routesOf('Apps');

const MAX_PAGE_ENTRIES = 1_000;
const MAX_RECORDING_BYTES = 16 * 1024 * 1024;

type StreamContext = Pick<Context, 'listFormat' | 'setPagination'> & { actor: Actor; services: Services };

/** REST gets the stream as it is sent; other callers get its entries. */
const streamUsage = async (ctx: StreamContext, filter: UsageStreamFilter, paging: PagingInput<never>) => {
  const { services, actor, listFormat } = ctx;
  const page = toPageRequest(ctx, paging);
  const stream = await services.usage.stream(actor, filter, page, usageEncoder(listFormat ?? 'json'));
  return listFormat ? stream : parsePages(stream, usageEntryFromJson);
};

export const usageRouter = router({
  listByApp: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/usage/', {
    summary: 'Stream the usage of an app',
    description:
      'All entries of the last `window` days, newest first. The size of the response is not limited without `page` or `page_size`.',
    legacy: true,
  })
    .input(z.object({ app_id: AppKey, window: UsageWindow, ...pageNumberFields }))
    .output(pagesOf(UsageEntryOutput))
    .query(({ ctx, input: { app_id: appId, window: windowDays, ...page } }) =>
      streamUsage(ctx, { appId, windowDays }, page),
    ),

  listByUser: routesOf('Users')(viewerProcedure, 'GET', '/jb/users/{email}/usage/{app_id}/', {
    summary: 'Get the usage of an app by a user',
    description:
      'The newest entry, or with `window` an array of all entries of that many days, which can be paged.',
    legacy: true,
  })
    .input(z.object({ email: EmailKey, app_id: AppKey, window: WindowDays.optional(), ...pageNumberFields }))
    .output(z.union([UsageEntryOutput, pagesOf(UsageEntryOutput)]))
    .query(async ({ ctx, input: { email, app_id: appId, window: windowDays, ...page } }) =>
      windowDays === undefined
        ? ctx.services.usage.latestOfUser(ctx.actor, email, appId)
        : streamUsage(ctx, { email, appId, windowDays }, page),
    ),

  listByUserInAllApps: routesOf('Users')(viewerProcedure, 'GET', '/jb/users/{email}/usage/', {
    summary: 'Stream the usage of a user',
    description:
      'All entries of the last `window` days, newest first, in all apps whose usage you may see. The size of the response is not limited without `page` or `page_size`.',
  })
    .input(z.object({ email: EmailKey, window: UsageWindow, ...pageNumberFields }))
    .output(pagesOf(UsageEntryOutput))
    .query(({ ctx, input: { email, window: windowDays, ...page } }) =>
      streamUsage(ctx, { email, windowDays }, page),
    ),

  list: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/usage/entries/', {
    summary: 'List the usage of an app page by page',
    description:
      'Newest first; a page is shorter if its entries are large. `cursor` is `next_cursor` of the previous page.',
  })
    .input(
      z.object({
        app_id: AppKey,
        email: EmailKey.optional(),
        from: InstantKey.optional(),
        /** Exclusive. */
        to: InstantKey.optional(),
        cursor: UsageCursorKey.optional(),
        limit: z.int().min(1).max(MAX_PAGE_ENTRIES).default(100),
      }),
    )
    .output(z.object({ items: z.array(UsageItemOutput), next_cursor: z.string().nullable() }))
    .query(async ({ ctx, input: { app_id: appId, from: since, to: until, ...filter } }) => {
      const { rows, next } = await ctx.services.usage.page(ctx.actor, { ...filter, appId, since, until });
      return { items: rows, next_cursor: next && usageCursor(next) };
    }),

  /** Usage by day, of an app, of a user, or of a user in an app. Has no REST path: for screens. */
  series: viewerProcedure
    .input(
      OptionalInput({
        app_id: AppKey.optional(),
        email: EmailKey.optional(),
        window: UsageWindow,
        ...pageNumberFields,
      }),
    )
    .output(z.array(UsageDayOutput))
    .query(({ ctx, input }) => {
      const subject = { appId: input.app_id, email: input.email };
      return ctx.services.usageStats.series(ctx.actor, subject, input.window, toPageRequest(ctx, input));
    }),

  /** The most active users and stacks of an app. Has no REST path: for screens. */
  top: viewerProcedure
    .input(z.object({ app_id: AppKey, window: UsageWindow, limit: z.int().min(1).max(100).default(10) }))
    .output(z.object({ users: z.array(TopUserOutput), stacks: z.array(TopStackOutput) }))
    .query(({ ctx, input }) =>
      ctx.services.usageStats.topOfApp(ctx.actor, input.app_id, input.window, input.limit),
    ),

  ...usageReportProcedures,

  record: route(allowedTo('client', 'operate', 'manage-apps'), 'POST', '/jb/apps/{app_id}/usage/', {
    summary: 'Record usage',
    description:
      'Takes one entry or an array of entries, and records all of them or none. An entry with an `id` is recorded once, even if it is sent again.',
    many: 'entries',
    status: 201,
    maxBodyBytes: MAX_RECORDING_BYTES,
    handlesIdempotency: true,
    example: { id: '4711', timestamp: '2026-11-21T12:00:00.000Z', extra: { stack: 'a0a91e46' } },
  })
    .input(z.object({ app_id: AppKey, entries: SubmittedEntries }))
    .output(z.object({ inserted: z.int(), duplicates: z.int().meta({ examples: [0] }) }))
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.liftForBulk(input.entries.length);
      return ctx.services.usageRecording.record(ctx.actor, input.app_id, input.entries, ctx.idempotencyKey());
    }),
});
