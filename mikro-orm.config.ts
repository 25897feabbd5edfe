import { Migrator } from '@mikro-orm/migrations';
import { defineConfig } from '@mikro-orm/postgresql';
import { PostgresDialect } from 'kysely';
import { entities } from './entities/index.ts';
import { MIGRATIONS, type Migrations } from './migrations/index.ts';
import { parseDatabaseUrl } from './src/config/database-url.ts';
import { resolveTlsMode } from './src/db/client.ts';
import { createPool, type DatabasePool } from './src/db/pool.ts';

/** @param migrations that `migrator.up` can apply */
export const ormConfig = (pool: DatabasePool, migrations: Migrations = []) =>
  defineConfig({
    entities,
    extensions: [Migrator],
    dbName: pool.options.database ?? '',
    driverOptions: new PostgresDialect({ pool }),
    forceUtcTimezone: true,
    migrations: { migrationsList: migrations, snapshot: false, allOrNothing: false },
    schemaGenerator: { skipTables: [/^usage_(entries|days)_\d/], ignoreRoutines: true },
    logger: () => {},
    colors: false,
  });

/** For the MikroORM CLI; the service creates a pool for its own connection. */
export default async () => {
  const connection = await resolveTlsMode(parseDatabaseUrl(process.env.DATABASE_URL ?? ''));
  return ormConfig(createPool(connection), await MIGRATIONS.load());
};
