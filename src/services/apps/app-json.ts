import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type AliasedRawBuilder, sql } from 'kysely';
import { compiledOnce } from '../../db/compiled-query.ts';
import type { Reading } from '../../db/json-stream/chunk-reader.ts';
import { type Columns, type ColumnWriter, objectOf } from '../../db/json-stream/column-encoders.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import { mostRows } from '../access/json-list-stream.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { type AppCursor, type AppRow, appRowsIn, isAfterApp } from './app-rows.ts';

export type AppColumn = Exclude<keyof AppRow, 'client_id' | 'shows_usage'> | 'usage';
/** The columns of the JSON of an app; `usage` is how its windows are written, which are columns of their own. */
export type AppColumns = (usage: ColumnWriter) => Columns<AppColumn>;

/** Where a statement goes on. */
type Key = { ms: number; id: string };
type Options = {
  em: SqlEntityManager;
  actor: Actor;
  behind: AppCursor | undefined;
  /** `YYYY-MM-DD` in UTC */
  today: string;
};
type Bound = AppCursor & Pick<Options, 'today'> & { userId: number; adminOf: readonly number[] };

/** How apps are read as text, by age, by these columns. */
export const appTexts = (columns: AppColumns) => {
  const shown = columns(writeUsage);
  const writeApp = objectOf(shown);
  const names = Object.values(shown).map(([column]) => column);
  const statementOf = (isStaff: boolean, isFurther: boolean) =>
    compiledOnce((db, { userId, adminOf, today, createdAt, id }: Bound) => {
      const actor = { id: userId, adminOf, isStaff, isSuperuser: false, email: '', credential: null };
      const rows = appRowsIn(db, actor)
        .clearSelect()
        .leftJoin('usage_windows', 'usage_windows.app_id', 'apps.id')
        .select(['apps.created_at', 'apps.id as key', sql`usage_windows.day < ${today}::date`.as('is_stale')])
        .select(names.flatMap((name) => selectionOf(name, actor)))
        .limit(mostRows);
      return isFurther ? rows.where(isAfterApp({ createdAt, id })) : rows;
    });
  const statementsFor = (isStaff: boolean) => ({
    first: statementOf(isStaff, false),
    further: statementOf(isStaff, true),
  });
  const ofAll = statementsFor(true);
  const ofOffice = statementsFor(false);

  /** `stale` gets those whose windows are of a former day: then nothing else counts. */
  return ({ em, actor, behind, today }: Options, stale: string[]): Reading<Key> => {
    const { first, further } = canViewAll(actor) ? ofAll : ofOffice;
    const seen = { userId: actor.id, adminOf: actor.adminOf, today };
    return {
      statement: (after) => {
        const place = after ? { createdAt: new Date(after.ms), id: after.id } : behind;
        return place
          ? further(em, { ...seen, ...place })
          : first(em, { ...seen, createdAt: new Date(0), id: '' });
      },
      write: (row, out) => {
        row.next();
        const ms = row.instantMs();
        row.next();
        const id = row.bytes.toString('latin1', row.from, row.to);
        if (row.next() && row.isTrue()) stale.push(id);
        writeApp(row, out);
        return { ms, id };
      },
      isOutdated: () => stale.length > 0,
    };
  };
};

export type AppTexts = ReturnType<typeof appTexts>;

const WINDOWS = ['30', '60', '90'];

/** Those who may not see how much an app is used get no usage at all. */
const selectionOf = (name: AppColumn, actor: Actor): AliasedRawBuilder<unknown, string>[] => {
  if (name !== 'usage') return [sql.ref(`apps.${name}`).as(`shown_${name}`)];
  return [
    clientVisibleTo(actor, sql`apps.client_id`).as('shows_usage'),
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
