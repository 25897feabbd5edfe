import { z } from 'zod';
import { instant, json, text } from '../../src/db/json-stream/column-encoders.ts';
import { usageTexts } from '../../src/services/usage/usage-json.ts';
import type { UsageCursor, UsageRow } from '../../src/services/usage/usage-pages.ts';
import { AnyObject, Instant } from './fields.ts';
import { parsed, TEXT } from './json-text.ts';
import type { ItemWriter } from './streamed-items.ts';

export const UsageEntryView = z.object({
  action_description: z.string(),
  email: z.string(),
  full_name: z.string(),
  timestamp: Instant,
  action: z.string(),
  extra: AnyObject,
});
type UsageEntryView = z.input<typeof UsageEntryView>;

/** Parses `extra` lazily: lists of a million entries send it unparsed. */
export const usageEntryView = (entry: UsageRow): UsageEntryView & { [TEXT]: string } => ({
  action_description: entry.action_description,
  email: entry.email,
  full_name: entry.full_name,
  timestamp: entry.occurred_at,
  action: entry.action,
  get extra() {
    return parsed(this[TEXT]);
  },
  [TEXT]: entry.extra,
});

const textOf = (entry: UsageEntryView & { [TEXT]?: string }): string =>
  entry[TEXT] ?? JSON.stringify(entry.extra);

/** The same fields as `usageEntryView`, by column. */
export const usageText = usageTexts({
  action_description: ['action_description', text],
  email: ['email', text],
  full_name: ['full_name', text],
  timestamp: ['occurred_at', instant],
  action: ['action', text],
  extra: ['usage_entries.extra', json],
});

const HEADER = ['timestamp', 'email', 'full_name', 'action', 'action_description', 'extra'];

export const usageEntryWriter: ItemWriter<UsageEntryView> = {
  json: (entry) =>
    `{"action_description":${JSON.stringify(entry.action_description)},"email":${JSON.stringify(entry.email)},` +
    `"full_name":${JSON.stringify(entry.full_name)},"timestamp":"${entry.timestamp.toISOString()}",` +
    `"action":${JSON.stringify(entry.action)},"extra":${textOf(entry)}}`,
  csv: {
    header: HEADER,
    cells: (entry) => [
      entry.timestamp.toISOString(),
      entry.email,
      entry.full_name,
      entry.action,
      entry.action_description,
      textOf(entry),
    ],
  },
};

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
