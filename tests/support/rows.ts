import { type Insertable, type Kysely, type Selectable, sql } from 'kysely';
import type { Database } from '../../entities/index.ts';

type Table = keyof Database & string;
type App = { db(): Kysely<Database> };
/** Columns with a value, one of several values, or null. */
type Where<T extends Table> = {
  [Column in keyof Selectable<Database[T]>]?:
    | Selectable<Database[T]>[Column]
    | Selectable<Database[T]>[Column][];
};

const condition = (where: object) => {
  const parts = Object.entries(where).map(([column, value]) => {
    if (value === null) return sql<boolean>`${sql.ref(column)} is null`;
    if (Array.isArray(value)) return sql<boolean>`${sql.ref(column)} in (${sql.join(value)})`;
    return sql<boolean>`${sql.ref(column)} = ${value}`;
  });
  return parts.length ? sql<boolean>`${sql.join(parts, sql` and `)}` : sql<boolean>`true`;
};

/** The rows of a table for which `where` holds, in the order of their first column: state that no endpoint shows. */
export const rowsOf = async <T extends Table>(
  app: App,
  table: T,
  where: Where<T> = {},
): Promise<Selectable<Database[T]>[]> => {
  const { rows } = await sql<
    Selectable<Database[T]>
  >`select * from ${sql.table(table)} where ${condition(where)} order by 1`.execute(app.db());
  return rows;
};

/** The only row for which `where` holds. */
export const rowOf = async <T extends Table>(
  app: App,
  table: T,
  where: Where<T> = {},
): Promise<Selectable<Database[T]>> => {
  const [row, ...others] = await rowsOf(app, table, where);
  if (!row || others.length) throw new Error(`${others.length + (row ? 1 : 0)} rows of ${table}, not 1`);
  return row;
};

/** One column of these rows. */
export const valuesOf = async <T extends Table, Column extends keyof Selectable<Database[T]>>(
  app: App,
  table: T,
  column: Column,
  where: Where<T> = {},
): Promise<Selectable<Database[T]>[Column][]> => (await rowsOf(app, table, where)).map((row) => row[column]);

/** Changes columns of these rows. */
export const setRows = async <T extends Table>(
  app: App,
  table: T,
  where: Where<T>,
  values: Partial<Selectable<Database[T]>>,
): Promise<void> => {
  const columns = Object.entries(values).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  await sql`update ${sql.table(table)} set ${sql.join(columns)} where ${condition(where)}`.execute(app.db());
};

/** Inserts one or several rows. Columns are those of the first row. */
export const addRows = async <T extends Table>(
  app: App,
  table: T,
  values: Insertable<Database[T]> | Insertable<Database[T]>[],
): Promise<void> => {
  const rows: object[] = Array.isArray(values) ? values : [values];
  const columns = Object.keys(rows[0] ?? {});
  const tuples = rows.map((row) => sql`(${sql.join(columns.map((column) => Reflect.get(row, column)))})`);
  const names = sql.join(columns.map((column) => sql.ref(column)));
  await sql`insert into ${sql.table(table)} (${names}) values ${sql.join(tuples)}`.execute(app.db());
};
