import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Compilable, type Expression, type RawBuilder, sql } from 'kysely';
import type { Database } from '../../entities/index.ts';

/** MikroORM's entity manager, of a unit of work or of a transaction in it. */
export type Em = SqlEntityManager;

/**
 * Kysely in the transaction of this entity manager. For reads of many rows, and for secrets: Kysely binds values, whereas the ORM writes
 * them into the text of the statement.
 */
export const kysely = (em: Em) => em.getKysely<Database>();

/** The columns that have a value, for the `set` of an update; null if there are none. */
export const pickDefined = <T extends object>(changes: T) => {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  if (given.length === 0) return null;
  return Object.fromEntries(given) as { [Name in keyof T]?: Exclude<T[Name], undefined> }; // its own entries
};

/** The clients that a user belongs to. */
export const clientIdsOf = async (em: Em, userId: number): Promise<number[]> => {
  const rows = await kysely(em)
    .selectFrom('memberships')
    .select('client_id')
    .where('user_id', '=', userId)
    .execute();
  return rows.map((row) => row.client_id);
};

/** SQL that is true, false or null. */
export type Condition = RawBuilder<boolean>;
export const condition = sql<boolean>;

export const EMPTY_JSON = sql<Record<string, unknown>>`'{}'::json`;

/** An array of the single column that a subquery selects. */
export const arrayOf = <T>(rows: Expression<Record<string, T>>) => sql<T[]>`array${rows}`;

/** The number of rows of a table that meet a condition, as a subquery of a statement about other rows. */
export const countIn = (table: keyof Database, isCounted: Condition) =>
  sql<number>`(select count(*)::int from ${sql.table(table)} where ${isCounted})`;

/**
 * Whether a column has one of these values. They are one parameter, so that the text of the statement does not depend on their number. They
 * are in a subquery, so that the plan does not either: PostgreSQL would count them, and plan the statement for each run.
 */
export const isAnyOf = (
  column: string,
  values: Iterable<number | string | null>,
  type: 'int' | 'bigint' | 'varchar',
): Condition => {
  const array = sql.raw(`${type}[]`);
  return condition`${sql.ref(column)} = any((select ${[...values]}::${array})::${array})`;
};

/** The words of a search; empty for a blank one. */
export const wordsOf = (search: string): string[] => [...new Set(search.split(/\s+/u).filter(Boolean))];

/**
 * SQL that is true if the text contains each word of the search. `folded` is the text in lower case; the database folds the words in the
 * same way.
 */
export const hasWords = (folded: RawBuilder<unknown>, search: string): RawBuilder<boolean> => {
  const conditions = wordsOf(search).map((word) => condition`${folded} like lower(${patternOf(word)})`);
  return conditions.length === 0 ? sql`true` : sql`(${sql.join(conditions, sql` and `)})`;
};

/** Escapes `%` and `_`. */
const patternOf = (word: string): string => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`;

/**
 * Compiles a query once and reuses its text with other times and lists: building and compiling a large query takes longer than sending it.
 * @param query has a list (of any values) for each list that changes, and no other list or time
 */
export const compileOnce = <Row>(query: Compilable<Row>) => {
  const compiled = query.compile();
  return (now: Date, ...lists: readonly (readonly unknown[])[]): Compilable<Row> => {
    const next = lists.values();
    const parameters = compiled.parameters.map((value) => {
      if (value instanceof Date) return now;
      return Array.isArray(value) ? next.next().value : value;
    });
    return { compile: () => ({ ...compiled, parameters }) };
  };
};
