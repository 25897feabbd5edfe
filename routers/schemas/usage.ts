import { z } from 'zod';
import { opaque } from '../../src/lib/json-value.ts';
import type { UsageCursor, UsageRow } from '../../src/services/usage/usage-pages.ts';
import type { UsageEncoder } from '../../src/services/usage/usage-stream.ts';
import { AnyObject, Instant } from './fields.ts';
import { createRowEncoder, type ListFormat } from './row-encoder.ts';

export const UsageEntryView = z.object({
  action_description: z.string(),
  email: z.string(),
  full_name: z.string(),
  timestamp: Instant,
  action: z.string(),
  extra: AnyObject,
});
type UsageEntryView = z.input<typeof UsageEntryView>;

export const usageEntryView = (entry: UsageRow): UsageEntryView => ({
  action_description: entry.action_description,
  email: entry.email,
  full_name: entry.full_name,
  timestamp: entry.occurred_at,
  action: entry.action,
  extra: opaque(JSON.parse(entry.extra)),
});

/** As `usageEntryView`. */
export const usageEncoder = (format: ListFormat): UsageEncoder => createRowEncoder(UsageEntryView, format);

/** An entry of a list that was streamed as JSON. */
export const usageEntryFromJson = (entry: UsageEntryView & { timestamp: string }): UsageEntryView => ({
  ...entry,
  timestamp: new Date(entry.timestamp),
  extra: opaque(entry.extra),
});

/** A usage entry in a paged list. */
export const UsageItemView = UsageEntryView.extend({ id: z.int() });

export const usageItemView = (entry: UsageRow): z.input<typeof UsageItemView> => ({
  id: entry.id,
  ...usageEntryView(entry),
});

/** Usage of one UTC day. */
export const UsageDayView = z.object({ day: z.string(), actions: z.int(), users: z.int() });
export const TopUserView = z.object({
  email: z.string(),
  full_name: z.string(),
  actions: z.int(),
  days: z.int(),
});
export const TopStackView = z.object({ stack: z.string(), label: z.string(), actions: z.int() });

/** The cursor of a page: time and id of its last entry. */
export const usageCursor = ({ occurredAt, id }: UsageCursor): string => `${occurredAt.getTime()}.${id}`;

export const UsageCursorKey = z
  .string()
  .regex(/^\d{1,14}\.\d{1,15}$/, 'Must be the next_cursor of a previous page.')
  .transform((text): UsageCursor => {
    const [time = '', id = ''] = text.split('.');
    return { occurredAt: new Date(Number(time)), id: Number(id) };
  });
