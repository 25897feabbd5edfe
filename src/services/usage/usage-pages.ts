import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../tables.ts';

/** Short, so that the first byte of an answer does not wait for the rest. */
const FIRST_PAGE = 100;
const LARGEST_PAGE = 1_000;
/** What a page is to hold: entries are 1 to 70 KB. Larger pages outlive more rounds of garbage collection. */
const PAGE_CHARACTERS = 128 * 1024;

/** Where a page ended: the next one has what is older. */
export type UsageCursor = { occurredAt: Date; id: number };

export type UsageFilter = {
  appId: string;
  email?: string | undefined;
  action?: string | undefined;
  /** Exclusive. */
  since?: Date | undefined;
  until?: Date | undefined;
  cursor?: UsageCursor | undefined;
};

/** The newest entries first. `extra` is JSON text: whoever passes it on need not parse it. */
export const usageRows = (
  em: SqlEntityManager,
  { appId, email, action, since, until, cursor }: UsageFilter,
) => {
  let rows = tables(em)
    .selectFrom('usage_entries')
    .select(['id', 'action_description', 'email', 'full_name', 'occurred_at', 'action'])
    .select(sql<string>`extra::text`.as('extra'))
    .where('app_id', '=', appId)
    .orderBy('occurred_at', 'desc')
    .orderBy('id', 'desc');
  if (email !== undefined) rows = rows.where('email', '=', email);
  if (action !== undefined) rows = rows.where('action', '=', action);
  if (since) rows = rows.where('occurred_at', '>', since);
  if (until) rows = rows.where('occurred_at', '<=', until);
  if (cursor) {
    rows = rows
      // Tells the planner which months are out of question; the row comparison does not.
      .where('occurred_at', '<=', cursor.occurredAt)
      .where(sql<boolean>`(occurred_at, id) < (${cursor.occurredAt}, ${cursor.id})`);
  }
  return rows;
};

export type UsageRow = Awaited<ReturnType<ReturnType<typeof usageRows>['execute']>>[number];

/**
 * All that the filter lets through, page by page, the next one being read while one is passed on. Between pages it
 * holds no connection, however slowly they are taken.
 */
export async function* usagePages(em: SqlEntityManager, filter: UsageFilter): AsyncGenerator<UsageRow[]> {
  const read = (limit: number, cursor?: UsageCursor) =>
    usageRows(em, { ...filter, cursor })
      .limit(limit)
      .execute();

  let size = FIRST_PAGE;
  let reading = read(size);
  for (;;) {
    const rows = await reading;
    const last = rows.at(-1);
    if (!last) return;
    const isLast = rows.length < size;
    if (!isLast) {
      size = nextSize(rows);
      reading = read(size, { occurredAt: last.occurred_at, id: last.id });
      // Awaited when it is its turn, or never, if nobody wants the rest.
      reading.catch(() => undefined);
    }
    yield rows;
    if (isLast) return;
  }
}

/** As many as fit if they are like those before, growing step by step in case they are not. */
const nextSize = (rows: readonly UsageRow[]): number => {
  const characters = rows.reduce((sum, { extra }) => sum + extra.length, 0);
  const fitting = Math.floor((rows.length * PAGE_CHARACTERS) / Math.max(characters, 1));
  return Math.max(1, Math.min(fitting, rows.length * 4, LARGEST_PAGE));
};
