import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Compilable, CompiledQuery, Kysely } from 'kysely';
import type { Database } from '../../entities/index.ts';

/** A unit of work: an entity manager, or one in a transaction. */
export type Db = SqlEntityManager;

/**
 * Kysely in the transaction of this entity manager, for reads of many rows and for secrets: Kysely binds values, the ORM
 * writes them into the statement's text.
 */
export const tables = (em: SqlEntityManager) => em.getKysely<Database>();

/** Runs compiled statements one after another. */
export const runStatements = async (
  em: SqlEntityManager,
  statements: readonly CompiledQuery[],
): Promise<void> => {
  for (const statement of statements) await tables(em).executeQuery(statement);
};

/** The columns with a value, which an update sets; null without any. */
export const pickDefined = <T extends object>(changes: T): Partial<T> | null => {
  const given: Partial<T> = { ...changes };
  for (const column in given) if (given[column] === undefined) delete given[column];
  return Object.keys(given).length > 0 ? given : null;
};

/** The clients that a user belongs to. */
export const clientIdsOf = async (em: SqlEntityManager, userId: number): Promise<number[]> => {
  const rows = await tables(em)
    .selectFrom('memberships')
    .select('client_id')
    .where('user_id', '=', userId)
    .execute();
  return rows.map((row) => row.client_id);
};

/** Represents a value that is bound later. */
class Placeholder {
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }
}

/** For Kysely, each has the type of the value that replaces it. */
const placeholders = <V extends object>(): V =>
  new Proxy({}, { get: (_target, key) => new Placeholder(String(key)) }) as V;

/**
 * A statement that Kysely compiles at its first run only: for a small query, that takes longer than everything else. `build`
 * may bind its values but not branch on them: they are placeholders. Use `bound` to send the statement along with others.
 */
export const prepared = <V extends object, O>(build: (db: Kysely<Database>, values: V) => Compilable<O>) => {
  let compiled: CompiledQuery<O> | undefined;
  const bound = (em: SqlEntityManager, values: V): CompiledQuery<O> => {
    compiled ??= build(tables(em), placeholders<V>()).compile();
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Placeholder ? values[parameter.key as keyof V] : parameter,
    );
    return { ...compiled, parameters };
  };
  const run = async (em: SqlEntityManager, values: V): Promise<O[]> =>
    (await tables(em).executeQuery<O>(bound(em, values))).rows;
  return Object.assign(run, { bound });
};
