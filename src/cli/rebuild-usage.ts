import type { Config } from '../config/config.ts';
import { openDatabase } from '../db/database.ts';
import { tables } from '../db/kysely.ts';
import { systemClock } from '../lib/clock.ts';
import { notFound } from '../lib/problems.ts';
import { withDatabaseHost } from '../server/database-host.ts';
import { rebuildUsage } from '../services/usage/usage-rebuild.ts';
import { createProgress } from './progress.ts';

/**
 * Rebuilds the usage rollups of all apps or of one, with a transaction per app.
 * @returns the number of apps
 * @throws Problem `not-found` if no app has this slug
 */
export const rebuildAllUsage = (config: Config, slug?: string): Promise<number> =>
  withDatabaseHost(config, async ({ connection }) => {
    // No statement timeout: counting a large app takes long.
    const orm = await openDatabase(connection, undefined, null);
    try {
      const all = tables(orm.em.fork()).selectFrom('apps').select('id').orderBy('id');
      const apps = await (slug === undefined ? all : all.where('slug', '=', slug)).execute();
      if (slug !== undefined && apps.length === 0) throw notFound(`app: ${slug}`);
      await rebuildEach(
        apps.map(({ id }) => id),
        (id) => rebuildUsage(orm.em.fork(), id, systemClock.now()),
      );
      return apps.length;
    } finally {
      await orm.close(true);
    }
  });

const rebuildEach = async (ids: string[], rebuild: (id: string) => Promise<void>): Promise<void> => {
  const progress = createProgress('Apps', ids.length);
  try {
    for (const id of ids) {
      await rebuild(id);
      progress.advance();
    }
  } finally {
    progress.stop();
  }
};
