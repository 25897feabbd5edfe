import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { appRows } from '../apps/app-rows.ts';
import type { Unit } from '../unit.ts';
import { appAddress, withLaunchCode } from './launch-address.ts';
import { createLaunchCode } from './launch-codes.ts';
import type { TicketSubject } from './ticket-facts.ts';
import { createTickets, type IssuedTicket } from './tickets.ts';

/** Opens apps for users who are logged in. */
export const createLaunches = (unit: Unit) => {
  const { em, appUrl } = unit;
  const tickets = createTickets(unit);

  return {
    /**
     * A ticket for the actor.
     * @throws Problem `not-found` on the app or the stack, `client-closed`, `app-in-maintenance`
     */
    openTicket: (actor: Actor, appId: string, stackSlug: string | null): Promise<IssuedTicket> =>
      tickets.issueTicket({ kind: 'user', userId: actor.id, appId, stackSlug }),

    /**
     * The address that opens an app, with a code if it leads to the app's own site.
     * @throws Problem as `openTicket`
     */
    launch: async (actor: Actor, appSlug: string, stackSlug: string | null): Promise<string> => {
      const found = await appRows(em, actor)
        .where('apps.slug', '=', appSlug)
        .executeTakeFirstOrThrow(() => notFound('app'));
      const subject: TicketSubject = { kind: 'user', userId: actor.id, appId: found.id, stackSlug };
      const { app } = await tickets.requireFacts(subject);
      const address = appAddress(app, appUrl);
      return withLaunchCode(address, () => createLaunchCode(em, subject));
    },
  };
};
