import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';

type App = { rank: number; isVisible: boolean; json: string };

/**
 * Encodes the app ids of users: sorted by the age of the apps, and only the apps that the actor may see. There are few apps
 * and many users, so all apps are read once instead of being joined to each user.
 */
export const createAppEncoder = async (em: SqlEntityManager, actor: Actor) => {
  const apps = await tables(em)
    .selectFrom('apps')
    .select(['id', clientVisibleTo(actor, sql`client_id`).as('is_visible')])
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const byId = new Map<string, App>(
    apps.map(({ id, is_visible }, rank) => [id, { rank, isVisible: is_visible, json: JSON.stringify(id) }]),
  );
  let isOutdated = false;

  const findVisible = (ids: readonly string[], seesAll: boolean): App[] => {
    const visible: App[] = [];
    for (const id of ids) {
      const app = byId.get(id);
      if (!app) isOutdated = true;
      else if (seesAll || app.isVisible) visible.push(app);
    }
    return visible;
  };

  return {
    /** Whether a user had an app that was created after the apps were read. */
    isOutdated: (): boolean => isOutdated,
    /**
     * @param ids a PostgreSQL array such as `{Ab12Cd34,Ef56Gh78}`
     * @param userId actors see all apps of their own
     */
    encode: (ids: string | null, userId: string | null): string => {
      if (ids === null || ids === '{}') return '[]';
      const visible = findVisible(ids.slice(1, -1).split(','), userId === String(actor.id));
      if (visible.length > 1) visible.sort((a, b) => a.rank - b.rank);
      return `[${visible.map(({ json }) => json).join(',')}]`;
    },
  };
};
