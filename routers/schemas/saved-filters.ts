import { z } from 'zod';
import type { SavedFilterRow } from '../../src/services/apps/saved-filters.ts';
import { Instant, Name, Text } from './fields.ts';

export const SavedFilterView = z.object({
  user: z.string(),
  stack: z.string(),
  hash: z.string(),
  name: z.string(),
  created: Instant,
  modified: Instant,
});

export const savedFilterView = (filter: SavedFilterRow, owner: string): z.input<typeof SavedFilterView> => ({
  user: owner,
  stack: `${filter.stack_label} for ${filter.app_label} App`,
  hash: filter.hash,
  name: filter.name,
  created: filter.created,
  modified: filter.modified,
});

export const SavedFilterInput = z.object({
  stack_id: Text(255),
  hash: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'Must be 1 to 64 characters from A-Z, a-z, 0-9, _ and -.'),
  name: Name(255),
});
/** Any text is accepted: a malformed hash is not found. */
export const HashKey = Text(255);
