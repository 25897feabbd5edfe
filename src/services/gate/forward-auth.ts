import { canonicalAddress } from '../../lib/ip-networks.ts';
import { Problem } from '../../lib/problems.ts';
import type { TicketClaims } from '../../lib/ticket-claims.ts';
import type { Actor } from '../access/actor.ts';
import type { Unit } from '../unit.ts';
import { findEmbeddedUse } from './embedded-uses.ts';
import { claimsOf } from './issued-claims.ts';
import { createLaunchCode } from './launch-codes.ts';
import type { OpeningFacts } from './opening-facts.ts';
import { accessOf, readFacts, type TicketSubject } from './ticket-facts.ts';

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
export const createForwardAuth = (unit: Unit) => {
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
