import type { Read } from '../../db/batched-reads.ts';
import { compileOnce, condition, type Em } from '../../db/kysely.ts';
import { createBatchLoader } from '../../lib/batch-loader.ts';
import type { Clock } from '../../lib/clock.ts';
import { canonicalAddress } from '../../lib/ip-networks.ts';
import { isSlug } from '../../lib/package-name.ts';
import { Problem } from '../../lib/problems.ts';
import { OPENS_APPS } from '../access/action-scopes.ts';
import { type Actor, proofOf } from '../access/actor.ts';
import { requireScope } from '../access/scope.ts';
import { tokenDigest } from '../auth/credentials.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  decideAccess,
  factorStepOf,
  invalidAttributes,
  type Opening,
  openingsByUser,
  openingWithin,
  requireFactor,
} from './app-access.ts';
import { openingsOfSession } from './embeds.ts';
import { createLaunchCode } from './launches.ts';
import { hasCookie, readLook } from './look-access.ts';
import { claimsOf, openerOf, type TicketSubject } from './tickets.ts';

/** Proxies and apps accept headers of at least 8 KiB; a ticket is a third larger than its claims. */
const MAX_CLAIM_BYTES = 4_096;

/** The subject of a request to an app. */
export type Admission = {
  /** Email address, or `view:{id}`. */
  user: string;
  /** Name of the client that owns the app. */
  client: string;
  roles: string[];
  /** The keys of the roles in the app. */
  appRoles: string[];
  ticket: string | null;
  /** Sent instead of a ticket that is too large for a header; the app exchanges the code for it. */
  code: string | null;
  /** The address of the person who looks at the app as the user, read-only; null if the user opens it. */
  viewer: string | null;
  /** Sites whose pages may show the app in frames. */
  embedOrigins: string[];
};

/** Decides on each request to an app, which a proxy asks about before it forwards the request. */
export const createForwardAuth = (unit: UnitOfWork) => {
  const { em, read, lookUpOpening, clock, signingKeys, tokenUses } = unit;
  const address = canonicalAddress(unit.origin.address ?? '');

  const admission = async (opening: Opening, subject: TicketSubject): Promise<Admission> => {
    const access = decideAccess(opening, clock.now());
    if (access === 'in-maintenance') throw new Problem('app-in-maintenance');
    if (access === 'attributes-invalid') throw invalidAttributes(opening);
    if (access !== 'allowed') throw refused();
    requireFactor(opening, openerOf(subject, opening), clock.now());
    const claims = claimsOf(opening, subject, unit);
    const isTooLarge = Buffer.byteLength(JSON.stringify(claims)) > MAX_CLAIM_BYTES;
    return {
      user: claims.email ?? claims.sub,
      client: claims.client.name,
      roles: claims.roles,
      appRoles: claims.app_roles,
      ticket: isTooLarge ? null : await signingKeys.sign(claims),
      code: isTooLarge ? await createLaunchCode(em, subject, clock.now()) : null,
      viewer: claims.act?.email ?? null,
      embedOrigins: opening.embed_origins,
    };
  };

  /**
   * Admits a request of the browser in which the actor looks at the app as someone. After the end of the look, it is refused until the
   * browser launches the app: the actor must not go on as themselves without noticing.
   */
  const admitLook = async (slug: string, secret: string, findActor: FindActor): Promise<Admission> => {
    const credential = (await findActor())?.credential;
    const isCookie = hasCookie(tokenDigest(secret), slug);
    const opening = isSlug(slug) ? await readLook(em, clock.now(), isCookie) : null;
    const look = opening?.look;
    if (!look || credential?.kind !== 'session' || credential.id !== look.sessionId)
      throw new Problem('forbidden', { detail: LOOK_ENDED });
    const { id: lookId, actorId } = look;
    return admission(opening, { kind: 'look', lookId, actorId, appId: opening.app_id });
  };

  return {
    /**
     * Admits a request to the app: as the person as whom the actor looks at it, by the access view that was opened in this browser, or else
     * as the actor.
     * @param secrets the cookies of the look and of the view, or null
     * @throws Problem `unauthenticated`, `forbidden`, `app-in-maintenance`, `second-factor-required`
     */
    admit: async (
      slug: string,
      { look: lookSecret, embed: embedSecret }: { look: string | null; embed: string | null },
      findActor: FindActor,
    ): Promise<Admission> => {
      if (lookSecret !== null) return admitLook(slug, lookSecret, findActor);
      const now = clock.now();
      // A slug that PostgreSQL cannot read would fail all lookups of the batch.
      const isReadable = isSlug(slug);
      const [view] =
        embedSecret !== null && isReadable
          ? await read(openingsOfSession(em, { secret: embedSecret, now, slug, address }))
          : [];
      if (view?.is_in_network && ['allowed', 'in-maintenance'].includes(decideAccess(view, now))) {
        const subject = { kind: 'view', useId: view.use_id, appId: view.app_id } as const;
        // If the view was opened before its client required a second factor, it has ended for its person.
        if (factorStepOf(view, openerOf(subject, view), now) === null) return admission(view, subject);
      }
      const actor = await findActor();
      if (!actor) throw view ? refused() : new Problem('unauthenticated');
      requireScope(actor.scope, OPENS_APPS);
      tokenUses.record(actor, 'GET /gate/{app_slug}/', [OPENS_APPS]);
      const found = isReadable ? await lookUpOpening(openingKey(actor.id, slug)) : undefined;
      if (!found) throw refused();
      const user = { kind: 'user', userId: actor.id, scope: actor.scope, proof: proofOf(actor) } as const;
      return admission(openingWithin(found, actor.scope), { ...user, appId: found.app_id });
    },
  };
};

type FindActor = () => Promise<Actor | null>;

const LOOK_ENDED = 'You no longer look at this app as someone else.';

/** Also for an app that does not exist. */
const refused = (): Problem => new Problem('forbidden', { detail: 'You may not open this app.' });

/** What `createOpeningLookup` looks up. */
export const openingKey = (userId: number | null, slug: string): string => `${userId} ${slug}`;

/** Reads the openings of users. Every request to an app needs one: lookups in the same tick share a statement. */
export const createOpeningLookup = (em: Em, read: Read, clock: Clock) => {
  const openings = compileOnce(
    openingsByUser(em, clock.now()).where(
      condition`(users.id, apps.slug) in (select * from unnest(${[]}::int[], ${[]}::varchar[]))`,
    ),
  );
  return createBatchLoader(async (keys: readonly string[]) => {
    const [userIds = [], slugs = []] = [0, 1].map((part) => keys.map((key) => key.split(' ')[part]));
    const rows = await read(openings(clock.now(), userIds, slugs));
    return new Map(rows.map((row) => [openingKey(row.user_id, row.app_slug), row]));
  });
};
