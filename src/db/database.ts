import { MikroORM } from '@mikro-orm/postgresql';
import type { Migrations } from '../../migrations/index.ts';
import { ormConfig } from '../../mikro-orm.config.ts';
import type { Connection } from '../config/connection.ts';
import { createPool } from './pool.ts';

/**
 * Opens a pool, and checks that the server answers. Both are closed by `close(true)`, or at the end of the using scope.
 * @param migrations the migrations that `migrator.up` can apply
 */
export const openDatabase = async (
  connection: Connection,
  queryLimitMs?: number | null,
  migrations?: Migrations,
) => {
  const pool = createPool(connection, queryLimitMs);
  const orm = await MikroORM.init(ormConfig(pool, migrations));
  // Queries through the ORM, because it ends only a pool that it has used.
  await orm.em.fork().execute('select 1');
  return Object.assign(orm, { pool, [Symbol.asyncDispose]: () => orm.close(true) });
};

export type Orm = Awaited<ReturnType<typeof openDatabase>>;
