import { createCommonPasswords } from '../adapters/hashing/common-passwords.ts';
import { createPasswordHasher } from '../adapters/hashing/password-hasher.ts';
import type { Config } from '../config/config.ts';
import { type Orm, openDatabase } from '../db/database.ts';
import { tables } from '../db/kysely.ts';
import { migrateDatabase } from '../db/migrate.ts';
import { systemClock } from '../lib/clock.ts';
import { notFound } from '../lib/problems.ts';
import { withDatabaseHost } from '../server/database-host.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { rebuildUsage } from '../services/usage/usage-writes.ts';
import { type AdminPassword, createAdmin } from '../services/users/bootstrap.ts';
import { createProgress } from './progress.ts';

/** Applies pending migrations and returns their names. */
export const migrate = (config: Config): Promise<string[]> =>
  withDatabaseHost(config, ({ connection }) => migrateDatabase(connection));

/** Work on the database. The key is that of the service. */
type Work<T> = (orm: Orm, secretKey: string) => Promise<T>;

/** Runs `work` on the migrated database. */
export const withDatabase = <T>(config: Config, work: Work<T>, queryLimitMs?: number | null): Promise<T> =>
  withDatabaseHost(config, async ({ connection, secretKey }) => {
    await migrateDatabase(connection);
    const orm = await openDatabase(connection, queryLimitMs);
    return work(orm, secretKey).finally(() => orm.close(true));
  });

/** As `withDatabase`, without statement timeouts: counting a large app, or searching for a person, takes long. */
export const withDatabaseForLong = <T>(config: Config, work: Work<T>): Promise<T> =>
  withDatabase(config, work, null);

/** @returns what was done about the password; see `createAdmin` */
export const createAdminAccount = (
  config: Config,
  email: string,
  generated: string,
): Promise<AdminPassword> =>
  withDatabase(config, async (orm) => {
    const hasher = await createPasswordHasher(config.argon2Concurrency);
    const password = config.adminPassword;
    const audit = createAudit(NO_ORIGIN, systemClock);
    return createAdmin(
      orm.em.fork(),
      { hasher, audit, commonPasswords: createCommonPasswords() },
      {
        email,
        generated,
        now: systemClock.now(),
        ...(password && { password }),
      },
    );
  });

/**
 * Rebuilds the usage rollups of all apps or of one, with a transaction per app.
 * @returns the number of apps
 * @throws Problem `not-found` if no app has this slug
 */
export const rebuildAllUsage = (config: Config, slug?: string): Promise<number> =>
  withDatabaseForLong(config, async (orm) => {
    const all = tables(orm.em.fork()).selectFrom('apps').select('id').orderBy('id');
    const apps = await (slug === undefined ? all : all.where('slug', '=', slug)).execute();
    if (slug !== undefined && apps.length === 0) throw notFound(`app: ${slug}`);
    using progress = createProgress('Apps', apps.length);
    for (const { id } of apps) {
      await rebuildUsage(orm.em.fork(), id, systemClock.now());
      progress.advance();
    }
    return apps.length;
  });
