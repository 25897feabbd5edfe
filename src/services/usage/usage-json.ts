import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { compiledOnce } from '../../db/compiled-query.ts';
import type { Reading } from '../../db/json-stream/chunk-reader.ts';
import { type Columns, objectOf } from '../../db/json-stream/column-encoders.ts';
import { mostRows } from '../access/json-list-stream.ts';
import { usageRowsIn } from './usage-pages.ts';

export type UsageColumn =
  | 'action_description'
  | 'email'
  | 'full_name'
  | 'occurred_at'
  | 'action'
  | 'usage_entries.extra';
export type UsageColumns = Columns<UsageColumn>;

/** `email`: only what this user did. */
type Filter = { appId: string; email?: string; since: Date };
/** Where a statement goes on. */
type Key = { ms: number; id: number };
type Bound = { appId: string; email: string; since: Date; occurredAt: Date; id: number };
type Shape = { hasEmail: boolean; isFurther: boolean };

/** How entries of the log are read as text, the newest first, by these columns. */
export const usageTexts = (columns: UsageColumns) => {
  const writeEntry = objectOf(columns);
  const names = Object.values(columns).map(([column]) => column);
  const statementOf = ({ hasEmail, isFurther }: Shape) =>
    compiledOnce((db, { appId, email, since, occurredAt, id }: Bound) =>
      usageRowsIn(db, {
        appId,
        since,
        ...(hasEmail && { email }),
        ...(isFurther && { cursor: { occurredAt, id } }),
      })
        .clearSelect()
        .select(['usage_entries.id', 'usage_entries.occurred_at as at'])
        .select(names)
        .limit(mostRows),
    );
  const statementsOf = (hasEmail: boolean) => ({
    first: statementOf({ hasEmail, isFurther: false }),
    further: statementOf({ hasEmail, isFurther: true }),
  });
  const ofApp = statementsOf(false);
  const ofUser = statementsOf(true);

  return (em: SqlEntityManager, { appId, email, since }: Filter): Reading<Key> => {
    const { first, further } = email === undefined ? ofApp : ofUser;
    return {
      statement: (after) => {
        const { ms, id } = after ?? { ms: 0, id: 0 };
        return (after ? further : first)(em, {
          appId,
          email: email ?? '',
          since,
          occurredAt: new Date(ms),
          id,
        });
      },
      write: (row, out) => {
        row.next();
        const id = row.long();
        row.next();
        const ms = row.instantMs();
        writeEntry(row, out);
        return { ms, id };
      },
    };
  };
};

export type UsageTexts = ReturnType<typeof usageTexts>;
