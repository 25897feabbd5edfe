import type { SqlEntityManager } from '@mikro-orm/postgresql';
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
