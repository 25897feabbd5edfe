import { MikroORM } from '@mikro-orm/postgresql';
import type pg from 'pg';
import { migrations } from '../migrations/index.ts';
import { ormConfig, QUERY_TIMEOUT_MS } from '../mikro-orm.config.ts';
import { createClient } from './adapters/database-client.ts';
import { boundConnects, discardIdleAfterLoss, releaseLost } from './adapters/database-pool.ts';
import { discardReadOnly } from './adapters/database-read-only.ts';
import type { Connection } from './core/connection.ts';
import { createStatementNames } from './prepared-statements.ts';
import { promiseQueries } from './query-promises.ts';

/** Any fixed number will do: it only has to be the same in every instance. */
const MIGRATION_LOCK = 7_305_130_501;

/** Opens the pool and proves that the server answers. */
export const openDatabase = async (
  connection: Connection,
  warn?: (line: string) => void,
  queryLimitMs: number | null = QUERY_TIMEOUT_MS,
) => {
  const orm = await MikroORM.init(ormConfig(connection, warn));
  const pool = await orm.em.getConnection().getNativeClient();
  releaseLost(pool);
  discardReadOnly(pool);
  discardIdleAfterLoss(pool);
  boundConnects(pool);
  const nameOf = connection.preparesStatements === false ? () => undefined : createStatementNames();
  promiseQueries(pool, { limitMs: queryLimitMs, nameOf });
  await orm.em.getConnection().execute('select 1');
  return orm;
};

export type Orm = Awaited<ReturnType<typeof openDatabase>>;

/**
 * Brings a database to the newest schema. Instances that start together take turns: the migrator itself
 * has no lock, so one is held on a connection of its own, and dies with it.
 */
export const migrateDatabase = async (connection: Connection): Promise<string[]> => {
  const lock = createClient(connection, 'migrate');
  // A lost connection shows at the next statement; without a listener it would end the process on the spot.
  lock.on('error', () => {});
  await lock.connect();
  try {
    // As at most starts: what is there already needs no lock to be seen, and no second pool to be done.
    if (await hasAllMigrations(lock)) return [];
    await lock.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const orm = await openDatabase(connection);
    try {
      return (await orm.migrator.up()).map(({ name }) => name);
    } finally {
      await orm.close(true);
    }
  } finally {
    await lock.end();
  }
};

const MIGRATIONS_TABLE = 'mikro_orm_migrations';

const hasAllMigrations = async (client: pg.Client): Promise<boolean> => {
  const { rows } = await client.query('select to_regclass($1) is not null as exists', [MIGRATIONS_TABLE]);
  if (!rows[0]?.exists) return false;
  const names = migrations.map(({ name }) => name);
  const { rowCount } = await client.query(`select from ${MIGRATIONS_TABLE} where name = any($1)`, [names]);
  return rowCount === names.length;
};

/** Whether every migration that this version knows has run, and the server accepts writes. @throws when the database is away */
export const isReady = async (orm: Orm): Promise<boolean> => {
  const [state] = await orm.em
    .fork()
    .execute(
      `select count(*)::int as count, current_setting('transaction_read_only')::bool as is_read_only from ${MIGRATIONS_TABLE}`,
    );
  return (state?.count ?? 0) >= migrations.length && !state?.is_read_only;
};
