import type { Config } from '../config/config.ts';
import { migrateDatabase, type Orm, openDatabase } from '../db/database.ts';
import { tables } from '../db/kysely.ts';
import { systemClock } from '../lib/clock.ts';
import { notFound } from '../lib/problems.ts';
import { withDatabaseHost } from '../server/database-host.ts';
import { rebuildUsage } from '../services/usage/usage-rebuild.ts';
import { createProgress } from './progress.ts';

/** Applies pending migrations and returns their names. */
export const migrate = (config: Config): Promise<string[]> =>
  withDatabaseHost(config, ({ connection }) => migrateDatabase(connection));

/** Runs `work` on the migrated database. */
export const withDatabase = <T>(config: Config, work: (orm: Orm) => Promise<T>): Promise<T> =>
  withDatabaseHost(config, async ({ connection }) => {
    await migrateDatabase(connection);
    const orm = await openDatabase(connection);
    try {
      return await work(orm);
    } finally {
      await orm.close(true);
    }
  });

/**
 * Rebuilds the usage rollups of all apps or of one, with a transaction per app.
 * @returns the number of apps
 * @throws Problem `not-found` if no app has this slug
 */
export const rebuildAllUsage = (config: Config, slug?: string): Promise<number> =>
  withDatabaseHost(config, async ({ connection }) => {
    // No statement timeout: counting a large app takes long.
    const orm = await openDatabase(connection, null);
    try {
      const all = tables(orm.em.fork()).selectFrom('apps').select('id').orderBy('id');
      const apps = await (slug === undefined ? all : all.where('slug', '=', slug)).execute();
      if (slug !== undefined && apps.length === 0) throw notFound(`app: ${slug}`);
      const progress = createProgress('Apps', apps.length);
      try {
        for (const { id } of apps) {
          await rebuildUsage(orm.em.fork(), id, systemClock.now());
          progress.advance();
        }
      } finally {
        progress.stop();
      }
      return apps.length;
    } finally {
      await orm.close(true);
    }
  });
