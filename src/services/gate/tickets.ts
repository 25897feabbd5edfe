import { randomUUID } from 'node:crypto';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { telemetry } from '../../lib/telemetry.ts';
import type { TicketClaims } from '../../lib/ticket-claims.ts';
import type { Actor } from '../access/actor.ts';
import type { SessionProof } from '../access/auth-methods.ts';
import { can } from '../access/permissions.ts';
import { EVERYWHERE, type Scope } from '../access/scope.ts';
import { dataPermissionsOf } from '../attributes/given-values.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  type AppAccess,
  decideAccess,
  factorStepOf,
  invalidAttributes,
  type Opener,
  type Opening,
  openingsByUser,
  openingsByView,
  openingWithin,
  requireFactor,
  rolesOf,
  stackBySlug,
} from './app-access.ts';
import { readLook } from './look-access.ts';

export type IssuedTicket = { ticket: string; expires_at: Date };

/** Issues tickets, by which apps know who opens them, and verifies them. */
export const createTickets = (unit: UnitOfWork) => {
  const { em, clock, read, signingKeys, baseUrl } = unit;
  const findOpening = async (subject: TicketSubject): Promise<Opening | null> => {
    if (subject.kind === 'look') return readLook(em, clock.now(), condition`view_as.id = ${subject.lookId}`);
    const [opening = null] = await read(openingsOf(em, clock.now(), subject));
    return opening;
  };
  /**
   * The opening of the subject, if the app may be opened now.
   * @throws Problem `not-found`, also for an app that the user may not open, or for a stack that it does not offer, `client-closed`,
   * `attributes-invalid`, `app-in-maintenance`, `second-factor-required`
   */
  const requireOpening = async (subject: TicketSubject): Promise<Opening> => {
    const found = await findOpening(subject);
    if (!found) throw notFound('app');
    const opening = openingWithin(found, subject.kind === 'user' ? subject.scope : EVERYWHERE);
    const access = decideAccess(opening, clock.now());
    if (access !== 'allowed') throw refusalOf(access, opening);
    requireFactor(opening, openerOf(subject, opening), clock.now());
    if (subject.kind !== 'view' && subject.stackSlug) {
      const [stack] = await read(stackBySlug(em, subject.appId, subject.stackSlug));
      if (!stack?.is_offered) throw notFound('stack');
    }
    return opening;
  };
  /** @throws the problems of `requireOpening` */
  const issueTicket = async (subject: TicketSubject): Promise<IssuedTicket> => {
    try {
      const opening = await requireOpening(subject);
      const claims = claimsOf(opening, subject, unit);
      const ticket = await signingKeys.sign(claims);
      telemetry.ticket.publish(() => ({ outcome: 'ok' }));
      return { ticket, expires_at: new Date(claims.exp * 1000) };
    } catch (error) {
      const outcome = error instanceof Problem ? error.code : 'internal-error';
      telemetry.ticket.publish(() => ({ outcome }));
      throw error;
    }
  };

  return {
    requireOpening,
    issueTicket,

    /**
     * The claims of a ticket, or null if it is invalid or no longer grants access: access is decided again, from the database. Client
     * admins see tickets for apps of their clients.
     */
    introspect: async (actor: Actor, ticket: string): Promise<TicketClaims | null> => {
      const claims = await signingKeys.verify(ticket, baseUrl);
      if (!claims) return null;
      const now = clock.now();
      const opening = claims.act
        ? await readLook(em, now, isLookOf(claims))
        : (await read(openingsOfTicket(em, now, claims)))[0];
      if (!opening || decideAccess(opening, now) !== 'allowed') return null;
      if (factorStepOf(opening, openerOfTicket(claims), now) !== null) return null;
      if (!can(actor, 'view', opening.client_id)) return null;
      if (!isSameData(claims, opening)) return null;
      const revoked = await read(revocations(em, claims.issued_ms, opening));
      return revoked.length === 0 ? claims : null;
    },
  };
};

/** Whether the ticket says what a new one would say of the data and the roles of its person. */
const isSameData = (claims: TicketClaims, opening: Opening): boolean =>
  canonicalJson([claims.data_permissions, claims.app_roles]) ===
  canonicalJson([dataPermissionsOf(opening).values, opening.app_roles]);

/** Times of revocations are whole milliseconds, like `issued_ms`. A ticket of the same millisecond is revoked. */
const revocations = (em: Em, issuedMs: number, { app_id, user_id, view_id }: Opening) =>
  kysely(em)
    .selectFrom('ticket_revocations')
    .select('id')
    .where(condition`extract(epoch from revoked_at) * 1000 >= ${issuedMs}::numeric`)
    .where(
      condition`(app_id = ${app_id} or user_id = ${user_id} or access_view_id = ${view_id}
        or num_nonnulls(app_id, user_id, access_view_id) = 0)`,
    )
    .limit(1);

/** Members do not see apps of closed clients; administrators do. */
export const refusalOf = (access: Exclude<AppAccess, 'allowed'>, opening: Opening): Problem => {
  if (access === 'in-maintenance') return new Problem('app-in-maintenance');
  if (access === 'attributes-invalid') return invalidAttributes(opening);
  const isMember = opening.view_id === null && rolesOf(opening).includes('member');
  return access === 'client-closed' && !isMember ? new Problem('client-closed') : notFound('app');
};

/** A user without a proof uses a token. */
export const openerOf = (subject: TicketSubject, opening: Opening): Opener => {
  const proof = proofOfSubject(subject, opening);
  return { proof, isToken: subject.kind === 'user' && proof === null };
};

/** A look of the actor of a ticket as its person, which had begun when the ticket was issued. */
const isLookOf = ({ act, sub, aud: slug, iat }: TicketClaims) => condition`
  (apps.slug = ${slug} and date_trunc('second', view_as.begun_at) <= to_timestamp(${iat}) and view_as.user_id = (select id from users where handle = ${sub})
    and view_as.actor_id = (select id from users where handle = ${act?.sub}))`;

/** A ticket states how its person has logged in. A ticket that states nothing was issued for a token, or for a view. */
const openerOfTicket = ({ amr, auth_time, access_view }: TicketClaims): Opener => ({
  proof: auth_time === null ? null : { methods: amr, authTime: new Date(auth_time * 1000) },
  isToken: auth_time === null && access_view === null,
});

/** The claims of a new ticket. */
export const claimsOf = (
  opening: Opening,
  subject: TicketSubject,
  { baseUrl, ticketSeconds, clock }: Pick<UnitOfWork, 'baseUrl' | 'ticketSeconds' | 'clock'>,
): TicketClaims => {
  const iat = Math.floor(clock.now().getTime() / 1000);
  const proof = proofOfSubject(subject, opening);
  const { look, access_ends_at } = opening;
  const ends = [access_ends_at, look?.endsAt].map((end) =>
    end ? Math.floor(end.getTime() / 1000) : Infinity,
  );
  return {
    iss: baseUrl,
    aud: opening.app_slug,
    sub: opening.handle ?? `view:${opening.view_id}`,
    email: opening.email,
    name: opening.name,
    client: { id: opening.client_id, name: opening.client_name },
    app: { id: opening.app_id, slug: opening.app_slug, label: opening.app_label },
    stack: opening.view_id === null ? (subject.stackSlug ?? null) : opening.view_stack,
    roles: rolesOf(opening),
    app_roles: opening.app_roles,
    data_permissions: dataPermissionsOf(opening).values,
    selections: opening.selections ?? {},
    is_demo_user: opening.is_demo_user ?? false,
    access_view: opening.view_id,
    show_header: opening.show_header ?? true,
    show_footer: opening.show_footer ?? true,
    language_code: opening.language_code ?? '',
    act: look?.actor ?? null,
    read_only: look !== undefined,
    amr: [...(proof?.methods ?? [])],
    auth_time: proof ? Math.floor(proof.authTime.getTime() / 1000) : null,
    jti: randomUUID(),
    iat,
    exp: Math.min(iat + ticketSeconds, ...ends),
    issued_ms: opening.issued_ms,
  };
};

/** The subject of a ticket: a logged-in user, a use of an access view, or a person as whom someone looks at the app. */
export type TicketSubject = {
  appId: string;
  /** For views, the stack of the view is opened. */
  stackSlug?: string | null | undefined;
} & (
  | { kind: 'user'; userId: number; scope: Scope; proof?: SessionProof | null }
  | { kind: 'view'; useId: number }
  | { kind: 'look'; lookId: number; actorId: number }
);

/** The proof of the login: of the user's session, of the session in which the view was used, or of the session of the person who looks. */
const proofOfSubject = (
  subject: TicketSubject,
  { look, use_methods: methods, use_auth_time: authTime }: Opening,
): SessionProof | null => {
  if (subject.kind === 'user') return subject.proof ?? null;
  if (look) return look.proof;
  return methods && authTime ? { methods, authTime } : null;
};

/** The opening of the user, or of the use of a view unless the view now opens the app as another user. */
const openingsOf = (em: Em, now: Date, { appId, ...subject }: Exclude<TicketSubject, { kind: 'look' }>) => {
  const openings =
    subject.kind === 'user'
      ? openingsByUser(em, now).where('users.id', '=', subject.userId)
      : openingsByView(
          em,
          now,
          condition`exists (select from access_view_uses u where u.id = ${subject.useId}
            and u.access_view_id = access_views.id and u.user_id is not distinct from access_views.user_id)`,
          condition`used.id = ${subject.useId}`,
        );
  return openings.where('apps.id', '=', appId);
};

/** The opening of the user or the view to which a ticket was issued. */
const openingsOfTicket = (em: Em, now: Date, { aud: slug, sub, access_view: viewId }: TicketClaims) => {
  const openings =
    viewId === null
      ? openingsByUser(em, now).where('users.handle', '=', sub)
      : openingsByView(em, now, condition`access_views.id = ${viewId}`).where(
          condition`coalesce(users.handle, 'view:' || access_views.id) = ${sub}`,
        );
  return openings.where('apps.slug', '=', slug);
};
