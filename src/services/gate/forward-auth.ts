import { sql } from 'kysely';
import type { Read } from '../../db/batched-reads.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { createBatchLoader } from '../../lib/batch-loader.ts';
import { canonicalAddress } from '../../lib/ip-networks.ts';
import { isSlug } from '../../lib/package-name.ts';
import { Problem } from '../../lib/problems.ts';
import type { TicketClaims } from '../../lib/ticket-claims.ts';
import type { Actor } from '../access/actor.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { openableAppsOfUsers } from './app-access.ts';
import { findEmbeddedUse } from './embeds.ts';
import { createLaunchCode } from './launches.ts';
import { accessOf, claimsOf, readFacts, type TicketFacts, type TicketSubject } from './tickets.ts';

/** Proxies and apps accept headers of 8 KiB and more; a ticket is a third larger than its claims. */
const MAX_CLAIM_BYTES = 4_096;

/** Who sends a request to an app. */
export type Admission = {
  /** Email address, or `view:{id}`. */
  user: string;
  /** Name of the client that owns the app. */
  client: string;
  roles: string[];
  ticket: string | null;
  /** Instead of a ticket that is too large for a header: the app exchanges it. */
  code: string | null;
  /** Sites whose pages may show the app in frames. */
  embedOrigins: string[];
};

/** Decides about single requests to apps, which a proxy asks about before it lets them through. */
export const createForwardAuth = (unit: UnitOfWork) => {
  const { em, read, clock, baseUrl, ticketSeconds, signingKeys, lookUpOpening, ticketCache } = unit;
  const address = canonicalAddress(unit.origin.address ?? '');

  /** Null if the ticket would be too large. */
  const ticketOf = async (claims: TicketClaims, revokedMs: number): Promise<string | null> => {
    const { jti: _jti, iat: _iat, exp, issued_ms: issuedMs, ...lasting } = claims;
    const key = JSON.stringify(lasting);
    if (Buffer.byteLength(key) > MAX_CLAIM_BYTES) return null;
    const known = ticketCache.find(key, { revokedMs, expiresAfter: exp - ticketSeconds / 2 });
    if (known) return known;
    const ticket = await signingKeys.sign(claims);
    ticketCache.keep(key, { ticket, issuedMs, exp });
    return ticket;
  };
  const admission = async (facts: OpeningFacts, subject: TicketSubject): Promise<Admission> => {
    const access = accessOf(facts);
    if (access === 'in-maintenance') throw new Problem('app-in-maintenance');
    if (access !== 'allowed') throw refused();
    const claims = claimsOf(facts, { baseUrl, ticketSeconds, now: clock.now(), stackSlug: null });
    const who = { user: claims.email ?? claims.sub, client: claims.client.name, roles: claims.roles };
    const admitted = { ...who, embedOrigins: facts.app.embed_origins };
    const ticket = await ticketOf(claims, facts.revoked_ms);
    return { ...admitted, ticket, code: ticket === null ? await createLaunchCode(em, subject) : null };
  };
  const findView = async (slug: string, secret: string) => {
    const use = await findEmbeddedUse(em, { secret, now: clock.now(), slug, address });
    if (!use) return null;
    const { isInNetwork, ...key } = use;
    const subject: TicketSubject = { kind: 'view', ...key };
    const facts = await readFacts({ em, read, now: clock.now() }, subject);
    // Its tickets are signed each time.
    return facts && { subject, isInNetwork, facts: { ...facts, revoked_ms: facts.issued_ms } };
  };

  return {
    /**
     * Admits a request to the app: as the access view that was opened in this browser, or else as the actor.
     * @param embedSecret the cookie of the view, or null
     * @throws Problem `unauthenticated`, `forbidden`, `app-in-maintenance`
     */
    admit: async (
      slug: string,
      embedSecret: string | null,
      authenticate: () => Promise<Actor | null>,
    ): Promise<Admission> => {
      const view = embedSecret === null ? null : await findView(slug, embedSecret);
      if (view?.isInNetwork && ['allowed', 'in-maintenance'].includes(accessOf(view.facts)))
        return admission(view.facts, view.subject);
      const actor = await authenticate();
      if (!actor) throw view ? refused() : new Problem('unauthenticated');
      const facts = await lookUpOpening(actor.id, slug);
      if (!facts) throw refused();
      return admission(facts, { kind: 'user', userId: actor.id, appId: facts.app.app_id });
    },
  };
};

/** Also for an app that does not exist. */
const refused = (): Problem => new Problem('forbidden', { detail: 'You may not open this app.' });

/** Facts of a user and an app, and when tickets for them were last revoked, in milliseconds; 0 means never. */
type OpeningFacts = TicketFacts & { revoked_ms: number };

/**
 * Reads the facts of users and apps. Every request to an app needs them, so lookups of one event-loop tick share a
 * statement.
 */
export const createOpeningLookup = (em: Em, read: Read) => {
  const load = async (keys: readonly string[]) => {
    const parts = keys.map((key) => key.split(' '));
    const userIds = parts.map(([id]) => Number(id));
    const slugs = parts.map(([, slug = '']) => slug);
    const rows = await read(openings(em, userIds, slugs));
    return new Map(rows.map((row) => [`${row.user_id} ${row.app_slug}`, row]));
  };
  const loader = createBatchLoader(load);
  return async (userId: number, slug: string): Promise<OpeningFacts | null> => {
    // A slug that PostgreSQL cannot read would fail all requests of the batch.
    if (!isSlug(slug)) return null;
    const row = await loader(`${userId} ${slug}`);
    if (!row) return null;
    const { issued_ms, revoked_ms } = row;
    return { app: row, user: row, view: null, issued_ms, revoked_ms };
  };
};

/** SQL: the last revocation of tickets of a row of `users` for a row of `apps`. */
const lastRevocation = sql<number>`coalesce((
  select floor(extract(epoch from max(r.revoked_at)) * 1000)::float8 from ticket_revocations r
  where r.user_id = users.id or r.app_id = apps.id
    or num_nonnulls(r.user_id, r.app_id, r.access_view_id) = 0), 0)`;

const openings = (em: Em, userIds: number[], slugs: string[]) =>
  openableAppsOfUsers(kysely(em))
    .select(sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::float8`.as('issued_ms'))
    .select(lastRevocation.as('revoked_ms'))
    .where(
      condition`(users.id, apps.slug) in (select * from unnest(${userIds}::int[], ${slugs}::varchar[]))`,
    );

/** Tickets of people who make many requests; the oldest are evicted. */
const MAX_TICKETS = 5_000;

/** `exp` is in seconds, as in the ticket. */
type Cached = { ticket: string; issuedMs: number; exp: number };
type Limits = { revokedMs: number; expiresAfter: number };

/**
 * Keeps signed tickets, by their claims, for half of their lifetime: signing takes longer than the rest of a request. Whether a
 * ticket may be given out is decided before, from the database.
 */
export const createTicketCache = () => {
  const tickets = new Map<string, Cached>();
  return {
    /** A ticket with these claims that was issued after `revokedMs` and expires after `expiresAfter`, or null. */
    find: (key: string, { revokedMs, expiresAfter }: Limits): string | null => {
      const cached = tickets.get(key);
      if (cached && cached.issuedMs > revokedMs && cached.exp > expiresAfter) return cached.ticket;
      tickets.delete(key);
      return null;
    },

    keep: (key: string, cached: Cached): void => {
      tickets.set(key, cached);
      const [oldest] = tickets.size > MAX_TICKETS ? tickets.keys() : [];
      if (oldest !== undefined) tickets.delete(oldest);
    },
  };
};
