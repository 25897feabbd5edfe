import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { prepared } from '../../db/kysely.ts';
import type { OpenList, PageSize, RowEncoder } from '../../db/list-stream.ts';
import { usageRowsIn } from './usage-pages.ts';

type UsageColumn = 'action_description' | 'email' | 'full_name' | 'timestamp' | 'action' | 'extra';
export type UsageEncoder = RowEncoder<UsageColumn>;

/** `email`: only the entries of this user. */
type Filter = { appId: string; email?: string; since: Date };

/** Selected before the columns of the view: when the action occurred, and the entry's id. */
const KEY_COLUMNS = 2;

/** Opens the usage log, newest first. */
export const openUsageList = (em: SqlEntityManager, filter: Filter, encoder: UsageEncoder): OpenList => ({
  ...encoder,
  statement: (row, limit) => {
    const shape = { hasEmail: filter.email !== undefined, isFirst: row === undefined, limit };
    const cursor = { occurredAt: row?.[0] ?? '', id: Number(row?.[1]) };
    return usagePage(encoder.columns, shape).bound(em, { email: '', ...filter, ...cursor });
  },
  encode: (row) => encoder.encode(row, KEY_COLUMNS),
});

/** `occurredAt` is PostgreSQL's text, which has microseconds. */
type Values = Required<Filter> & { occurredAt: string; id: number };
type Shape = { hasEmail: boolean; isFirst: boolean; limit: PageSize };

const preparePage = (columns: readonly UsageColumn[], { hasEmail, isFirst, limit }: Shape) =>
  prepared((db, { appId, email, since, occurredAt, id }: Values) =>
    usageRowsIn(db, {
      appId,
      since,
      ...(hasEmail && { email }),
      ...(!isFirst && { cursor: { occurredAt, id } }),
    })
      .clearSelect()
      .select(['occurred_at', 'id'])
      .select(columns.map((name) => sql.ref(name === 'timestamp' ? 'occurred_at' : name).as(`view_${name}`)))
      .limit(sql.lit(limit)),
  );

/** By shape: all formats have the same columns. */
const pages = new Map<string, ReturnType<typeof preparePage>>();

const usagePage = (columns: readonly UsageColumn[], shape: Shape) => {
  const key = JSON.stringify(shape);
  const page = pages.get(key) ?? preparePage(columns, shape);
  pages.set(key, page);
  return page;
};
