import { sql } from 'kysely';
import { type Condition, condition, type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { newSecret } from '../../lib/ids.ts';
import type { Problem } from '../../lib/problems.ts';
import type { TicketClaims } from '../../lib/ticket-claims.ts';
import { type Actor, proofOf, requireAccount } from '../access/actor.ts';
import { readSessionActor } from '../auth/authentication.ts';
import { tokenDigest } from '../auth/credentials.ts';
import {
  type AppAccess,
  decideAccess,
  factorStepOf,
  type Opening,
  openingWithin,
} from '../gate/app-access.ts';
import { openingKey } from '../gate/forward-auth.ts';
import { hasCookie, readLook } from '../gate/look-access.ts';
import { claimsOf, openerOf, refusalOf, type TicketSubject } from '../gate/tickets.ts';
import type { LoginStep } from '../policies/factor-policy.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** What a session may do at an app now. `look-ended`: its owner has looked at the app as someone, and no longer does. */
export type Door = {
  opening: Opening;
  access: AppAccess | 'look-ended';
  /** Why the app does not open; null if it does, or if the look has ended. */
  refusal: Problem | null;
  /** The step of the login that the app's client still requires of the session. */
  step: LoginStep | null;
  subject: TicketSubject;
  sessionId: number;
  proof: { methods: readonly string[]; authTime: Date };
};

/** The longest time until it is decided again whether a session may open an app. Events about the person or the app make it sooner. */
const CHECK_MS = 15 * MINUTE_MS;

/** Logins to apps with OpenID Connect. Each step asks the session of the login, and the decision that opens apps. */
export const createOpenidLogins = (unit: UnitOfWork) => {
  const { em, clock, lookUpOpening } = unit;

  return {
    /**
     * What the actor's session may do at the app. Null for an unknown app, and for credentials that are no session.
     * @param lookSecretOf the cookie of a look at the app with this slug, or null
     */
    knock: async (actor: Actor, appId: string, lookSecretOf: (slug: string) => string | null) => {
      const { credential } = actor;
      if (credential?.kind !== 'session') return null;
      const app = await kysely(em)
        .selectFrom('apps')
        .select('slug')
        .where('id', '=', appId)
        .executeTakeFirst();
      const own = app && (await lookUpOpening(openingKey(actor.id, app.slug)));
      if (!own) return null;
      const secret = lookSecretOf(own.app_slug);
      if (secret === null) return doorOf(openingWithin(own, actor.scope), actor, clock.now());
      const look = await readLook(em, clock.now(), hasCookie(tokenDigest(secret), own.app_slug));
      return look?.look?.sessionId === credential.id
        ? doorOfLook(look, clock.now())
        : { ...doorOf(own, actor, clock.now()), access: 'look-ended' as const, refusal: null };
    },

    /**
     * Begins a login, or continues that of the session. Null if the session has ended. A new login is decided once more as soon as workers
     * see it: the access may have ended since the door was opened.
     * @param subject what the app knows the person by
     */
    begin: async ({ opening, sessionId }: Door, subject: string): Promise<Begun | null> => {
      const now = clock.now();
      const { rows } = await sql<Begun>`
        insert into openid_logins (app_id, client_id, user_id, session_id, look_id, subject, sid,
          backchannel_logout_uri, signing_algorithm, started_at, check_at)
        select o.app_id, ${opening.client_id}::int, ${opening.user_id}::int, sessions.id, ${opening.look?.id ?? null}::bigint,
          ${subject}, ${newSecret()}, o.backchannel_logout_uri, o.signing_algorithm, ${now}::timestamptz,
          ${now}::timestamptz
        from openid_apps o, sessions where o.app_id = ${opening.app_id} and sessions.id = ${sessionId}::bigint
        for key share of sessions
        on conflict (session_id, app_id, coalesce(look_id, 0)) where ended_at is null
          do update set check_at = openid_logins.check_at
        returning id::float8, sid`.execute(kysely(em));
      return rows[0] ?? null;
    },

    /** What a login may still do; null once it has ended. */
    check: async (loginId: number) => {
      const login = await kysely(em)
        .selectFrom('openid_logins')
        .innerJoin('apps', 'apps.id', 'openid_logins.app_id')
        .innerJoin('openid_apps', 'openid_apps.app_id', 'apps.id')
        .select(['openid_logins.id', 'apps.slug', 'user_id', 'session_id', 'look_id'])
        .where('openid_logins.id', '=', loginId)
        .where(isRunning())
        .executeTakeFirst();
      return login ? checkLogin(unit, login) : null;
    },

    /** Ends a login. @param notifiesApp whether the app is notified */
    end: async (loginId: number, { notifiesApp }: { notifiesApp: boolean }): Promise<void> => {
      await endLogin(em, loginId, clock.now(), { notifiesApp });
    },

    /** The claims about the person of a login. They are those of a ticket. */
    claims: async ({ opening, subject }: Pick<Door, 'opening' | 'subject'>): Promise<PersonClaims> => {
      const ticket = claimsOf(opening, subject, unit);
      const person = await personOf(em, opening);
      return {
        email: ticket.email,
        email_verified: person.is_email_verified,
        name: ticket.name,
        given_name: person.first_name,
        family_name: person.last_name,
        groups: person.groups,
        roles: ticket.roles,
        app_roles: ticket.app_roles,
        client: ticket.client,
        data_permissions: ticket.data_permissions,
        act: opening.look ? { sub: String(opening.look.actorId), email: opening.look.actor.email } : null,
        read_only: ticket.read_only ? true : null,
        amr: ticket.amr,
        auth_time: ticket.auth_time,
        expiresIn: ticket.exp - ticket.iat,
      };
    },

    /**
     * The claims that the person has agreed to; null if they need not agree, because the app is of a client to which they belong, or because
     * someone looks at it as them.
     */
    agreedClaims: async ({ opening }: Door): Promise<readonly string[] | null> => {
      if (opening.look !== undefined) return null;
      const { user_id, client_id, app_id } = opening;
      const { rows } = await sql<{ claims: string[] | null }>`
        select (select claims from openid_consents c where c.user_id = ${user_id} and c.app_id = ${app_id}) as claims
        where not exists (select from memberships m where m.user_id = ${user_id} and m.client_id = ${client_id})`.execute(
        kysely(em),
      );
      return rows[0] ? (rows[0].claims ?? []) : null;
    },

    /**
     * Stores that the actor agrees that the app gets these of its claims.
     * @throws Problem `confined-session`
     */
    agree: async (actor: Actor, appId: string, shown: readonly string[]): Promise<void> => {
      requireAccount(actor);
      await sql`
        insert into openid_consents (user_id, app_id, claims, created_at)
        select ${actor.id}::int, app_id, array(select unnest(claims) intersect select unnest(${[...shown]}::text[])), ${clock.now()}::timestamptz
        from openid_apps where app_id = ${appId}
        on conflict (user_id, app_id) do update set claims = excluded.claims, created_at = excluded.created_at`.execute(
        kysely(em),
      );
    },
  };
};

type Begun = { id: number; sid: string };

export type PersonClaims = Pick<
  TicketClaims,
  'email' | 'name' | 'roles' | 'app_roles' | 'client' | 'data_permissions' | 'amr' | 'auth_time'
> & {
  /** Who looks at the app as the person; null if they use it themselves. */
  act: { sub: string; email: string } | null;
  read_only: true | null;
  email_verified: boolean;
  given_name: string;
  family_name: string;
  /** Names of the groups in the app's client. */
  groups: string[];
  /** Seconds for which a token may state them. */
  expiresIn: number;
};

/** SQL: whether a login has not ended, and its session exists. `check` also asks the decision that opens apps. */
export const isRunning = (): Condition =>
  condition`(openid_logins.ended_at is null and openid_logins.session_id is not null)`;

const doorOf = (opening: Opening, actor: Actor, now: Date): Door => {
  const { id: userId, credential, scope } = actor;
  if (credential?.kind !== 'session') throw new Error('only a session opens an app by OpenID Connect');
  const subject = { kind: 'user', userId, appId: opening.app_id, scope, proof: proofOf(actor) } as const;
  return decideDoor(opening, subject, { id: credential.id, proof: credential.proof }, now);
};

const doorOfLook = (opening: Opening, now: Date): Door => {
  const { look } = opening;
  if (look === undefined) throw new Error('the opening has no look');
  const subject = { kind: 'look', lookId: look.id, actorId: look.actorId, appId: opening.app_id } as const;
  return decideDoor(opening, subject, { id: look.sessionId, proof: look.proof }, now);
};

type Session = { id: number; proof: Door['proof'] };

const decideDoor = (opening: Opening, subject: TicketSubject, session: Session, now: Date): Door => {
  const access = decideAccess(opening, now);
  const step = factorStepOf(opening, openerOf(subject, opening), now);
  const refusal = access === 'allowed' ? null : refusalOf(access, opening);
  return { opening, access, refusal, step, subject, sessionId: session.id, proof: session.proof };
};

/** `slug`: of its app, which has settings for OpenID Connect. */
export type RunningLogin = {
  id: number;
  slug: string;
  user_id: number;
  session_id: number | null;
  look_id: number | null;
};

type CheckDeps = Pick<UnitOfWork, 'em' | 'clock' | 'lookUpOpening'>;

/** The door of a login now, or null if the session, the look or the access has ended. */
export const checkLogin = async (deps: CheckDeps, login: RunningLogin): Promise<Door | null> => {
  const door = await findDoor(deps, login);
  // Maintenance passes: the login continues afterwards.
  const isOpen = door?.step === null && ['allowed', 'in-maintenance'].includes(door.access);
  return isOpen ? door : null;
};

const findDoor = async (
  { em, clock, lookUpOpening }: CheckDeps,
  login: RunningLogin,
): Promise<Door | null> => {
  const { slug, user_id: userId, session_id: sessionId, look_id: lookId } = login;
  if (sessionId === null) return null;
  const now = clock.now();
  if (lookId !== null) {
    const opening = await readLook(em, now, condition`view_as.id = ${lookId}`);
    return opening?.look?.sessionId === sessionId ? doorOfLook(opening, now) : null;
  }
  const actor = await readSessionActor(em, sessionId, now);
  if (actor?.id !== userId) return null;
  const opening = await lookUpOpening(openingKey(userId, slug));
  return opening ? doorOf(openingWithin(opening, actor.scope), actor, now) : null;
};

/** When the access may end by the clock, or soon. */
export const nextCheck = ({ access_ends_at: end, look }: Opening, now: Date): Date => {
  const times = [end, look?.endsAt].flatMap((time) => time?.getTime() ?? []);
  return new Date(Math.min(now.getTime() + CHECK_MS, ...times));
};

/** Ends a login. The app is notified if it has an address for that. */
export const endLogin = (em: Em, loginId: number, now: Date, { notifiesApp }: { notifiesApp: boolean }) =>
  kysely(em)
    .updateTable('openid_logins')
    .set({
      ended_at: now,
      next_attempt_at: notifiesApp
        ? sql`case when backchannel_logout_uri <> '' then ${now}::timestamptz end`
        : null,
    })
    .where('id', '=', loginId)
    .where('ended_at', 'is', null)
    .execute();

/** Names and groups of the person whom the app sees. */
const personOf = (em: Em, { user_id, client_id }: Opening) =>
  kysely(em)
    .selectFrom('users')
    .select(['first_name', 'last_name', 'is_email_verified'])
    .select(
      sql<string[]>`array(select g.name from groups g join group_members m on m.group_id = g.id
        where m.user_id = users.id and g.client_id = ${client_id} order by lower(g.name), g.id)`.as('groups'),
    )
    .where('id', '=', user_id)
    .executeTakeFirstOrThrow();
