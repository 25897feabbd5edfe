import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Columns, objectOf } from '../../core/json-columns.ts';
import type { Reading } from '../piece-reader.ts';
import { mostRows } from '../text-pieces.ts';
import { type UsageCursor, type UsageFilter, usageRows } from './usage-pages.ts';

export type UsageColumn =
  | 'action_description'
  | 'email'
  | 'full_name'
  | 'occurred_at'
  | 'action'
  | 'usage_entries.extra';
export type UsageColumns = Columns<UsageColumn>;

/** How entries of the log are read as text, the newest first. */
export const usageReading = (
  em: SqlEntityManager,
  filter: UsageFilter,
  columns: UsageColumns,
): Reading<UsageCursor> => {
  const writeEntry = objectOf(columns);
  const names = Object.values(columns).map(([column]) => column);
  return {
    statement: (cursor) =>
      usageRows(em, { ...filter, cursor })
        .clearSelect()
        .select(['usage_entries.id', 'usage_entries.occurred_at as at'])
        .select(names)
        .limit(mostRows)
        .compile(),
    write: (row, out) => {
      row.next();
      const id = row.long();
      row.next();
      const occurredAt = new Date(row.instantMs());
      writeEntry(row, out);
      return { occurredAt, id };
    },
  };
};
