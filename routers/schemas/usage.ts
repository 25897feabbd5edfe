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

/** `extra` is parsed when somebody asks for it: a stream of a million entries passes it on as the text that it is. */
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

/** As `usageEntryView`, column by column. */
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

/** As a page of the log shows an entry. */
export const UsageItemView = UsageEntryView.extend({ id: z.int() });

export const usageItemView = (entry: UsageRow): z.input<typeof UsageItemView> => ({
  id: entry.id,
  ...usageEntryView(entry),
});

/** Where a page ends, as its caller gives it back: time and id of its last entry. */
export const usageCursor = ({ occurredAt, id }: UsageCursor): string => `${occurredAt.getTime()}.${id}`;

export const UsageCursorKey = z
  .string()
  .regex(/^\d{1,14}\.\d{1,15}$/, 'Must be the next_cursor of another page.')
  .transform((text): UsageCursor => {
    const [time = '', id = ''] = text.split('.');
    return { occurredAt: new Date(Number(time)), id: Number(id) };
  });
