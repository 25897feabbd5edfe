import { isAnyOf } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { type Actor, requireLister } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { reloadActor } from '../auth/identity.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type Listing, listingQuery } from './user-listing.ts';
import { type UserRow, userRows } from './user-rows.ts';

/** Users that are read together. */
const PAGE_SIZE = 1_000;

/** Lists of users in any order, for files. */
export const createUserTables = ({ em, clock }: Pick<UnitOfWork, 'em' | 'clock'>) => ({
  /**
   * Reads the matching users, page by page, in the order that they have now: a user whose key changes while it is read,
   * for example by a login, is neither lost nor repeated. Only ids are held in memory. While it is read, it may fail with
   * `unauthenticated`.
   * @throws Problem `not-found` if the actor may not see the app or client
   */
  open: async (actor: Actor, filter: Listing): Promise<AsyncGenerator<UserRow[]>> => {
    requireLister(actor);
    const { users } = await listingQuery(em, actor, filter, clock.now());
    const ids = (await users.clearSelect().select('users.id').execute()).map(({ id }) => id);

    return (async function* () {
      for (let start = 0; start < ids.length; start += PAGE_SIZE) {
        const viewer = await reloadActor(em, actor);
        if (!viewer) throw new Problem('unauthenticated');
        requireLister(viewer);
        const page = ids.slice(start, start + PAGE_SIZE);
        const rows = await userRows(em, viewer)
          .where(isAnyOf('users.id', page, 'int'))
          .where(userVisibleTo(viewer))
          .execute();
        const byId = new Map(rows.map((row) => [row.id, row]));
        yield page.flatMap((id) => byId.get(id) ?? []);
      }
    })();
  },
});
