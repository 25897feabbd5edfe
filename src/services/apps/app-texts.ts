import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type AliasedRawBuilder, sql } from 'kysely';
import { type Columns, type ColumnWriter, objectOf } from '../../core/json-columns.ts';
import type { Actor } from '../actor.ts';
import type { Reading } from '../piece-reader.ts';
import { inSeenClients } from '../tables.ts';
import { mostRows } from '../text-pieces.ts';
import { type AppRow, appsBehind } from './app-rows.ts';

export type AppColumn = Exclude<keyof AppRow, 'client_id' | 'shows_usage'> | 'usage';
/** The columns of the JSON of an app; `usage` is how its windows are written, which are columns of their own. */
export type AppColumns = (usage: ColumnWriter) => Columns<AppColumn>;

type Key = { createdAt: Date; id: string };
type Options = {
  em: SqlEntityManager;
  actor: Actor;
  cursor: string | undefined;
  columns: AppColumns;
  /** `YYYY-MM-DD` in UTC */
  today: string;
};

/** How apps are read as text, by age. `stale` gets those whose windows are of a former day: then nothing else counts. */
export const appReading = async (
  { em, actor, cursor, columns, today }: Options,
  stale: string[],
): Promise<Reading<Key>> => {
  const shown = columns(writeUsage);
  const writeApp = objectOf(shown);
  const names = Object.values(shown).map(([column]) => column);
  const apps = await appsBehind(em, actor, cursor);
  const selected = apps
    .clearSelect()
    .leftJoin('usage_windows', 'usage_windows.app_id', 'apps.id')
    .select(['apps.created_at', 'apps.id as key', sql`usage_windows.day < ${today}::date`.as('is_stale')])
    .select(names.flatMap((name) => selectionOf(name, actor)))
    .limit(mostRows);
  return {
    statement: (after) =>
      (after
        ? selected.where(sql<boolean>`(apps.created_at, apps.id) > (${after.createdAt}, ${after.id})`)
        : selected
      ).compile(),
    write: (row, out) => {
      row.next();
      const createdAt = new Date(row.instantMs());
      row.next();
      const id = row.bytes.toString('latin1', row.from, row.to);
      if (row.next() && row.isTrue()) stale.push(id);
      writeApp(row, out);
      return { createdAt, id };
    },
    isOutdated: () => stale.length > 0,
  };
};

const WINDOWS = ['30', '60', '90'];

/** Those who may not see how much an app is used get no usage at all. */
const selectionOf = (name: AppColumn, actor: Actor): AliasedRawBuilder<unknown, string>[] => {
  if (name !== 'usage') return [sql.ref(`apps.${name}`).as(`shown_${name}`)];
  return [
    inSeenClients(actor, sql`apps.client_id`).as('shows_usage'),
    ...WINDOWS.flatMap((window) => [countOf(`actions${window}`), countOf(`users${window}`)]),
  ];
};

const countOf = (column: string) => sql`coalesce(${sql.ref(`usage_windows.${column}`)}, 0)::int8`.as(column);

const NONE = Buffer.from('{}');
const BEFORE_COUNTS = WINDOWS.flatMap((window, index) => [
  Buffer.from(`${index === 0 ? '{' : '},'}"${window}":{"actions":`),
  Buffer.from(',"users":'),
]);
const END = Buffer.from('}}');

const writeUsage: ColumnWriter = (row, out) => {
  row.next();
  const isShown = row.isTrue();
  for (const before of BEFORE_COUNTS) {
    row.next();
    if (!isShown) continue;
    out.put(before);
    out.number(row.long());
  }
  out.put(isShown ? END : NONE);
};
