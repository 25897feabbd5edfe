import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Read } from '../../db/batched-reads.ts';
import { tables } from '../../db/kysely.ts';

const UNKNOWN = -1;

export type AppOrder = ReturnType<typeof createAppOrder>;

/** The order of all apps by age, which never changes. PostgreSQL would sort the apps of each user of a list separately. */
export const createAppOrder = (em: SqlEntityManager, read: Read) => {
  /** Ids of all apps as JSON. They are letters and digits: nothing to escape. */
  let elements: string[] = [];
  let positions = new Map<string, number>();
  let hasUnknown = true;
  let loaded = Promise.resolve();

  const load = async (): Promise<void> => {
    const apps = tables(em).selectFrom('apps').select('id').orderBy('created_at').orderBy('id');
    try {
      const ids = (await read(apps)).map(({ id }) => id);
      elements = ids.map((id) => `"${id}"`);
      positions = new Map(ids.map((id, position) => [id, position]));
    } catch (error) {
      hasUnknown = true;
      throw error;
    }
  };

  return {
    /** Reads the order again if `sortedElements` has met apps that are younger than it. */
    refresh: (): Promise<void> => {
      if (hasUnknown) {
        hasUnknown = false;
        loaded = load();
      }
      return loaded;
    },

    /**
     * The elements of a JSON array, oldest first, from ids that are separated by commas. Null if one of them is unknown until
     * the next `refresh`.
     */
    sortedElements: (ids: string): string | null => {
      if (!ids.includes(',')) return `"${ids}"`;
      const found = ids.split(',').map((id) => positions.get(id) ?? UNKNOWN);
      found.sort((a, b) => a - b);
      if (found[0] !== UNKNOWN) return found.map((position) => elements[position]).join(',');
      hasUnknown = true;
      return null;
    },
  };
};
