import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { tables } from '../../db/kysely.ts';
import type { Read } from '../../db/pipeline.ts';

export type AppOrder = ReturnType<typeof createAppOrder>;

/** The order of all apps by age, which never changes. PostgreSQL would sort the apps of each user of a list by themselves. */
export const createAppOrder = (em: SqlEntityManager, read: Read) => {
  let positions = new Map<string, number>();
  let hasUnknown = true;
  let loaded = Promise.resolve();

  const load = async (): Promise<void> => {
    const apps = tables(em).selectFrom('apps').select('id').orderBy('created_at').orderBy('id');
    try {
      const rows = await read(apps.compile());
      positions = new Map(rows.map(({ id }, position) => [id, position]));
    } catch (error) {
      hasUnknown = true;
      throw error;
    }
  };

  return {
    /** Reads the order again if `sort` has met apps that are younger than it. */
    refresh: (): Promise<void> => {
      if (hasUnknown) {
        hasUnknown = false;
        loaded = load();
      }
      return loaded;
    },

    /** Sorts ids of apps, oldest first. Null if one of them is unknown until the next `refresh`. */
    sort: (ids: string[]): string[] | null => {
      if (ids.length === 1) return ids;
      if (ids.every((id) => positions.has(id)))
        return ids.sort((a, b) => (positions.get(a) ?? 0) - (positions.get(b) ?? 0));
      hasUnknown = true;
      return null;
    },
  };
};
