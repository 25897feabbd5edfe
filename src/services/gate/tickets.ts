import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { telemetry } from '../../lib/telemetry.ts';
import type { TicketClaims } from '../../lib/ticket-claims.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import type { Unit } from '../unit.ts';
import { type AppAccess, rolesOf } from './app-access.ts';
import { claimsOf } from './issued-claims.ts';
import {
  accessOf,
  readFacts,
  readFactsOfTicket,
  type TicketFacts,
  type TicketSubject,
} from './ticket-facts.ts';

export type IssuedTicket = { ticket: string; expires_at: Date };

type Deps = Pick<Unit, 'em' | 'clock' | 'read' | 'signingKeys' | 'baseUrl' | 'ticketSeconds'>;

/** Issues tickets, with which apps know who opens them, and checks them. */
export const createTickets = ({ em, clock, read, signingKeys, baseUrl, ticketSeconds }: Deps) => {
  const requireStack = async (appId: string, slug: string): Promise<void> => {
    const [stack] = await read(offeredStack(em, appId, slug));
    if (!stack) throw notFound('stack');
  };
  /** @throws Problem `not-found`, `client-closed`, `app-in-maintenance` */
  const requireFacts = async (subject: TicketSubject): Promise<TicketFacts> => {
    const facts = await readFacts({ em, read, now: clock.now() }, subject);
    if (!facts) throw notFound('app');
    const access = accessOf(facts);
    if (access !== 'allowed') throw refusalOf(access, facts);
    if (subject.kind === 'user' && subject.stackSlug) await requireStack(subject.appId, subject.stackSlug);
    return facts;
  };
  const issue = async (subject: TicketSubject): Promise<IssuedTicket> => {
    const facts = await requireFacts(subject);
    const stackSlug = subject.stackSlug ?? null;
    const claims = claimsOf(facts, { baseUrl, ticketSeconds, now: clock.now(), stackSlug });
    return { ticket: await signingKeys.sign(claims), expires_at: new Date(claims.exp * 1000) };
  };

  return {
    /**
     * What a ticket would say, if the app may be opened now.
     * @throws Problem as `issueTicket`
     */
    requireFacts,

    /**
     * Issues a ticket, if the app may be opened now.
     * @throws Problem `not-found`, also for an app that the user may not open, or a stack that it does not offer, `client-closed`, `app-in-maintenance`
     */
    issueTicket: async (subject: TicketSubject): Promise<IssuedTicket> => {
      const [attempt] = await Promise.allSettled([issue(subject)]);
      if (attempt.status === 'fulfilled') {
        telemetry.ticket.publish(() => ({ outcome: 'ok' }));
        return attempt.value;
      }
      const { reason } = attempt;
      telemetry.ticket.publish(() => ({
        outcome: reason instanceof Problem ? reason.code : 'internal-error',
      }));
      throw reason;
    },

    /**
     * The claims of a ticket, or null if it is not valid, or grants no access any more: access is decided again, from the
     * database. Client admins see tickets for apps of their clients.
     */
    introspect: async (actor: Actor, ticket: string): Promise<TicketClaims | null> => {
      const claims = await signingKeys.readSigned(ticket);
      const now = clock.now();
      if (claims?.iss !== baseUrl || claims.exp * 1000 <= now.getTime()) return null;
      const facts = await readFactsOfTicket({ em, read, now }, claims);
      if (!facts || accessOf(facts) !== 'allowed') return null;
      if (!canViewAll(actor) && !actor.adminOf.includes(facts.app.client_id)) return null;
      const revoked = await read(
        revocations(em, {
          issuedMs: claims.issued_ms,
          appId: facts.app.app_id,
          userId: facts.user?.user_id ?? 0,
          viewId: facts.view?.view_id ?? 0,
        }),
      );
      return revoked.length === 0 ? claims : null;
    },
  };
};

const offeredStack = (em: Db, appId: string, slug: string) =>
  tables(em)
    .selectFrom('stacks')
    .select('id')
    .where('app_id', '=', appId)
    .where('slug', '=', slug)
    .where('is_offered', '=', true);

type Issued = { issuedMs: number; appId: string; userId: number; viewId: number };

/** Times of revocations are whole milliseconds, like `issued_ms`. A ticket of the same millisecond is revoked. */
const revocations = (em: Db, { issuedMs, appId, userId, viewId }: Issued) =>
  tables(em)
    .selectFrom('ticket_revocations')
    .select('id')
    .where(sql<boolean>`extract(epoch from revoked_at) * 1000 >= ${issuedMs}::numeric`)
    .where(
      sql<boolean>`(app_id = ${appId} or user_id = ${userId} or access_view_id = ${viewId}
        or num_nonnulls(app_id, user_id, access_view_id) = 0)`,
    )
    .limit(1);

/** Members do not see apps of closed clients; administrators do. */
const refusalOf = (access: Exclude<AppAccess, 'allowed'>, { user, view }: TicketFacts): Problem => {
  if (access === 'in-maintenance') return new Problem('app-in-maintenance');
  const isMember = user && !view && rolesOf(user).includes('member');
  return access === 'client-closed' && !isMember ? new Problem('client-closed') : notFound('app');
};
