import type { ListStream } from '../../db/list-pages.ts';
import { countRows, type PageRequest, readPage } from '../../db/pagination.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, requireLister } from '../access/actor.ts';
import { openListStream } from '../access/open-list-stream.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type Listing, listingQuery, openUserList, type UserEncoder } from './user-listing.ts';
import { loadUser, type UserDetail, type UserRow } from './user-rows.ts';

export const createUsers = ({ em, read, loadAnyUser, clock, copyLines }: UnitOfWork) => ({
  /** @throws Problem `not-found` if the actor may not see the app or client, `invalid-input` on `cursor`, `sort` */
  list: async (actor: Actor, filter: Listing, page: PageRequest): Promise<UserRow[]> => {
    if (page.limit === undefined && page.page === undefined) requireUnsorted(filter);
    return readPage((await listingQuery(em, actor, filter, clock.now())).users, 'users.id', page);
  },

  /**
   * A page of the console's list of people. What only this list shows is selected here.
   * @throws Problem as `list`
   */
  people: async (actor: Actor, filter: Listing, page: PageRequest) =>
    readPage((await listingQuery(em, actor, filter, clock.now())).users, 'users.id', page),

  /** @throws Problem `not-found` if the actor may not see the app or client */
  count: async (actor: Actor, filter: Listing): Promise<number> =>
    countRows((await listingQuery(em, actor, filter, clock.now())).users),

  /**
   * Streams the whole list.
   * @throws Problem as `list`
   */
  stream: (actor: Actor, filter: Listing, encoder: UserEncoder): Promise<ListStream> => {
    const open = async (viewer: Actor) => {
      requireLister(viewer);
      requireUnsorted(filter);
      return openUserList(viewer, await listingQuery(em, viewer, filter, clock.now()), encoder);
    };
    return openListStream({ em, copyLines, actor, open });
  },

  /** @throws Problem `not-found` */
  get: (actor: Actor, email: string): Promise<UserDetail> =>
    loadUser({ em, read, loadAnyUser }, actor, email),
});

export type PersonRow = Awaited<ReturnType<ReturnType<typeof createUsers>['people']>>[number];

/** Whole lists are streamed in the order of ids, which no change of a user moves. @throws Problem `invalid-input` on `sort` */
const requireUnsorted = ({ sort }: Listing): void => {
  if (sort !== undefined) throw invalid({ sort: ['Requires `limit`, `page` or `page_size`.'] });
};
