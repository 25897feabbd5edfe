import type { PageRequest } from '../../db/pagination.ts';
import { DAY_MS, midnightBefore } from '../../lib/clock.ts';
import { type Actor, canViewAll, soleClient } from '../access/actor.ts';
import { createApps } from '../apps/apps.ts';
import { readClient } from '../clients/clients.ts';
import { createDirectoryHolds } from '../directory/holds.ts';
import { createInvitations } from '../invitations/invitations.ts';
import { createMails } from '../mail/mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { createUsers, type Listing } from '../users/users.ts';

const EXPIRING_DAYS = 3;
const IDLE_DAYS = 90;
/** Limit of items of each kind; a list with the filter shows the rest. */
const SHOWN_ITEMS = 5;

/** Items that administrators should look at. Reads through the services of the lists, so that counts and lists agree. */
export const createAttention = (unit: UnitOfWork) => ({
  /**
   * Of a client, or of all clients that the actor sees.
   * @throws Problem `not-found`
   */
  read: async (actor: Actor, client: number | undefined) => {
    if (client !== undefined) await readClient(unit.em, actor, client);
    const now = unit.clock.now();
    const chosen = client === undefined ? {} : { client };
    const failed = { status: 'failed' as const, ...chosen };
    const expiring = {
      status: 'pending' as const,
      expires_before: new Date(now.getTime() + EXPIRING_DAYS * DAY_MS),
      ...chosen,
    };
    const within = { ...scopeOf(actor), ...chosen };
    // Days begin at midnight UTC, as in the lists, so that the numbers agree.
    const idleSince = midnightBefore(now, IDLE_DAYS);
    const idle = { is_active: true, last_seen_before: idleSince, ...within };
    const expired = { password_expired: true, ...within };
    const unused = { is_unused: true, ...chosen };
    const inMaintenance = { in_maintenance: true, ...chosen };
    // Apps that are newer than the window of `is_unused`.
    const fresh = { never_used: true, is_unused: false, ...chosen };
    const [users, apps] = [createUsers(unit), createApps(unit)];
    // A numbered page would check the conditions of all users again.
    const sectionOfUsers = async <F extends Listing>(filter: F, sort?: Listing['sort']) => ({
      count: await users.count(actor, filter),
      items: await users.list(actor, { ...filter, sort }, { limit: SHOWN_ITEMS }),
      filter,
    });
    const mails = createMails(unit);
    const invitations = createInvitations(unit);
    return allOf({
      held_directories: createDirectoryHolds(unit).listWaiting(actor, client),
      failed_mails: section(failed, (page) => mails.list(actor, failed, page)),
      expiring_invitations: section(expiring, (page) => invitations.search(actor, expiring, page)),
      unused_apps: section(unused, (page) => apps.list(actor, unused, page)),
      new_apps: section(fresh, (page) => apps.list(actor, fresh, page)),
      apps_in_maintenance: section(inMaintenance, (page) => apps.list(actor, inMaintenance, page)),
      idle_users: sectionOfUsers(idle, 'last_login'),
      expired_passwords: sectionOfUsers(expired),
    });
  },
});

/** The members of one client are found faster than the users whom its admin may see; they are the same people. */
const scopeOf = (actor: Actor): { client?: number } => {
  const client = canViewAll(actor) ? undefined : soleClient(actor, 'view');
  return client === undefined ? {} : { client };
};

/** The number of items that match a filter, and the first of them. */
const section = async <F, T>(filter: F, list: (page: PageRequest) => Promise<T[]>) => {
  let count = 0;
  const tellCount = (found: number) => {
    count = found;
  };
  const items = await list({ page: { number: 1, size: SHOWN_ITEMS, tellCount } });
  return { count, items, filter };
};

const allOf = async <T extends Record<string, Promise<unknown>>>(sections: T) => {
  const found = await Promise.all(
    Object.entries(sections).map(async ([name, section]) => [name, await section] as const),
  );
  return Object.fromEntries(found) as { [K in keyof T]: Awaited<T[K]> }; // the same keys
};

export type Attention = Awaited<ReturnType<ReturnType<typeof createAttention>['read']>>;
