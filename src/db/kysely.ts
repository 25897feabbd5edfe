import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Compilable, CompiledQuery, Kysely } from 'kysely';
import type { Database } from '../../entities/index.ts';

/**
 * The tables by Kysely, in the transaction of this entity manager: for reads of many rows, and for anything
 * secret, because Kysely binds its values where the ORM writes them into the statement's text.
 */
export const tables = (em: SqlEntityManager) => em.getKysely<Database>();

/** Without the columns that were left out, which an update must not touch; null when that is all of them. */
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

/** Stands in a statement for a value that is yet to come. */
class Placeholder {
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }
}

/** To Kysely each is a value like any other, of the type that is going to be there. */
const placeholders = <V extends object>(): V =>
  new Proxy({}, { get: (_target, key) => new Placeholder(String(key)) }) as V;

/**
 * A statement that Kysely compiles when it is first wanted, and never again: for a small query that takes longer than all
 * else. What `build` is given may be bound and nothing else: there is nothing in it yet to decide by.
 */
export const compiledOnce = <V extends object, O>(
  build: (db: Kysely<Database>, values: V) => Compilable<O>,
) => {
  let compiled: CompiledQuery<O> | undefined;

  return (em: SqlEntityManager, values: V): CompiledQuery<O> => {
    compiled ??= build(tables(em), placeholders<V>()).compile();
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Placeholder ? values[parameter.key as keyof V] : parameter,
    );
    return { ...compiled, parameters };
  };
};

/** As `compiledOnce`, and run; `bound` is for a statement that is to be sent along with others. */
export const prepared = <V extends object, O>(build: (db: Kysely<Database>, values: V) => Compilable<O>) => {
  const bound = compiledOnce(build);
  const run = async (em: SqlEntityManager, values: V): Promise<O[]> =>
    (await tables(em).executeQuery<O>(bound(em, values))).rows;
  return Object.assign(run, { bound });
};
