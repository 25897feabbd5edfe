import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import type { Read } from '../../db/batched-reads.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { telemetry } from '../../lib/telemetry.ts';
import type { TicketClaims } from '../../lib/ticket-claims.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  type AppAccess,
  decideAccess,
  factsOf,
  factsOfView,
  type OpenableApp,
  type OpenableAppOfUser,
  openableApps,
  openableAppsOfUsers,
  rolesOf,
} from './app-access.ts';

export type IssuedTicket = { ticket: string; expires_at: Date };

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'read' | 'signingKeys' | 'baseUrl' | 'ticketSeconds'>;

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

  const issueTicket = async (subject: TicketSubject): Promise<IssuedTicket> => {
    try {
      const ticket = await issue(subject);
      telemetry.ticket.publish(() => ({ outcome: 'ok' }));
      return ticket;
    } catch (error) {
      const outcome = error instanceof Problem ? error.code : 'internal-error';
      telemetry.ticket.publish(() => ({ outcome }));
      throw error;
    }
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
    issueTicket,

    /** @throws Problem as `issueTicket` */
    issueForUser: ({ id: userId }: Actor, appId: string, stackSlug: string | null): Promise<IssuedTicket> =>
      issueTicket({ kind: 'user', userId, appId, stackSlug }),

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

const offeredStack = (em: Em, appId: string, slug: string) =>
  kysely(em)
    .selectFrom('stacks')
    .select('id')
    .where('app_id', '=', appId)
    .where('slug', '=', slug)
    .where('is_offered', '=', true);

type Issued = { issuedMs: number; appId: string; userId: number; viewId: number };

/** Times of revocations are whole milliseconds, like `issued_ms`. A ticket of the same millisecond is revoked. */
const revocations = (em: Em, { issuedMs, appId, userId, viewId }: Issued) =>
  kysely(em)
    .selectFrom('ticket_revocations')
    .select('id')
    .where(condition`extract(epoch from revoked_at) * 1000 >= ${issuedMs}::numeric`)
    .where(
      condition`(app_id = ${appId} or user_id = ${userId} or access_view_id = ${viewId}
        or num_nonnulls(app_id, user_id, access_view_id) = 0)`,
    )
    .limit(1);

/** Members do not see apps of closed clients; administrators do. */
const refusalOf = (access: Exclude<AppAccess, 'allowed'>, { user, view }: TicketFacts): Problem => {
  if (access === 'in-maintenance') return new Problem('app-in-maintenance');
  const isMember = user && !view && rolesOf(user).includes('member');
  return access === 'client-closed' && !isMember ? new Problem('client-closed') : notFound('app');
};

type Issue = { baseUrl: string; ticketSeconds: number; now: Date; stackSlug: string | null };

/** The claims of a new ticket. */
export const claimsOf = (facts: TicketFacts, issue: Issue): TicketClaims => {
  const { app, user, view } = facts;
  const iat = Math.floor(issue.now.getTime() / 1000);
  return {
    iss: issue.baseUrl,
    aud: app.app_slug,
    sub: user ? user.handle : `view:${view?.view_id}`,
    email: user?.email ?? null,
    name: user?.name ?? null,
    client: { id: app.client_id, name: app.client_name },
    app: { id: app.app_id, slug: app.app_slug, label: app.app_label },
    stack: view ? view.view_stack : issue.stackSlug,
    roles: user ? rolesOf(user) : ['guest'],
    data_permissions: orNull(view?.data_permissions) ?? orNull(user?.extra),
    selections: view?.selections ?? {},
    is_demo_user: user?.is_demo_user ?? false,
    access_view: view?.view_id ?? null,
    show_header: view?.show_header ?? true,
    show_footer: view?.show_footer ?? true,
    language_code: view?.language_code ?? '',
    jti: randomUUID(),
    iat,
    exp: iat + issue.ticketSeconds,
    issued_ms: facts.issued_ms,
  };
};

/** An empty object gives no permissions: then those of the user apply, or none. */
const orNull = (permissions: Record<string, unknown> | null | undefined) =>
  permissions && Object.keys(permissions).length > 0 ? permissions : null;

/** Who opens an app: a user who is logged in, or a use of an access view. */
export type TicketSubject = {
  appId: string;
  /** For views, the stack of the view is opened. */
  stackSlug?: string | null | undefined;
} & ({ kind: 'user'; userId: number } | { kind: 'view'; useId: number });

/** Reads what a ticket contains, and whether it may be issued, from the database for each ticket. */
export type TicketFacts = {
  app: OpenableApp;
  user: OpenableAppOfUser | null;
  view: ViewColumns | null;
  issued_ms: number;
};

const issuedMs = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::float8`.as('issued_ms');

/** The expiry of a one-time view limits when it can be opened, not how long the app stays open. */
const isViewOpen = (now: Date) =>
  condition`(access_views.is_active and (access_views.is_one_time
    or access_views.expires_at is null or access_views.expires_at > ${now}))`.as('is_view_open');

const VIEW_COLUMNS = [
  'access_views.id as view_id',
  'access_views.by_superuser',
  'access_views.data_permissions',
  'access_views.selections',
  'access_views.stack_slug as view_stack',
  'access_views.show_header',
  'access_views.show_footer',
  'access_views.language_code',
] as const;

type ViewColumns = {
  view_id: number;
  is_view_open: boolean;
  by_superuser: boolean;
  data_permissions: Record<string, unknown> | null;
  selections: Record<string, unknown>;
  view_stack: string | null;
  show_header: boolean;
  show_footer: boolean;
  language_code: string;
};

/** The view of a use, unless it opens the app as another user now. */
const isViewOfUse = (useId: number) => condition`exists (
  select from access_view_uses u where u.id = ${useId}
    and u.access_view_id = access_views.id and u.user_id is not distinct from access_views.user_id)`;

type ViewCondition = ReturnType<typeof isViewOfUse>;

const viewsOfUsers = (db: Kysely<Database>, now: Date, condition: ViewCondition) =>
  openableAppsOfUsers(db)
    .innerJoin('access_views', (join) =>
      join.onRef('access_views.app_id', '=', 'apps.id').onRef('access_views.user_id', '=', 'users.id'),
    )
    .select([...VIEW_COLUMNS, isViewOpen(now), issuedMs])
    .where(condition);

const viewsOfGuests = (db: Kysely<Database>, now: Date, condition: ViewCondition) =>
  openableApps(db)
    .innerJoin('access_views', 'access_views.app_id', 'apps.id')
    .select([...VIEW_COLUMNS, isViewOpen(now), issuedMs])
    .where('access_views.user_id', 'is', null)
    .where(condition);

type Reading = { em: Em; read: Read; now: Date };

/** Null if the user, the app or the view does not exist. */
export const readFacts = async (deps: Reading, subject: TicketSubject): Promise<TicketFacts | null> => {
  const { em, read, now } = deps;
  const db = kysely(em);
  const { appId } = subject;
  if (subject.kind === 'user') {
    const users = openableAppsOfUsers(db).select(issuedMs).where('users.id', '=', subject.userId);
    const [row] = await read(users.where('apps.id', '=', appId));
    return row ? { app: row, user: row, view: null, issued_ms: row.issued_ms } : null;
  }
  const isOfUse = isViewOfUse(subject.useId);
  return viewFacts(
    await Promise.all([
      read(viewsOfUsers(db, now, isOfUse).where('apps.id', '=', appId)),
      read(viewsOfGuests(db, now, isOfUse).where('apps.id', '=', appId)),
    ]),
  );
};

/** The current facts of the user or the view that a ticket was issued to. */
const readFactsOfTicket = async (deps: Reading, ticket: TicketClaims): Promise<TicketFacts | null> => {
  const { em, read, now } = deps;
  const { aud: slug, sub: handle, access_view: viewId } = ticket;
  const db = kysely(em);
  if (viewId === null) {
    const users = openableAppsOfUsers(db).select(issuedMs).where('users.handle', '=', handle);
    const [row] = await read(users.where('apps.slug', '=', slug));
    return row ? { app: row, user: row, view: null, issued_ms: row.issued_ms } : null;
  }
  const isView = condition`access_views.id = ${viewId}`;
  const ofUsers = viewsOfUsers(db, now, isView).where('users.handle', '=', handle);
  const ofGuests = viewsOfGuests(db, now, isView).where(condition`${handle} = 'view:' || access_views.id`);
  return viewFacts(
    await Promise.all([
      read(ofUsers.where('apps.slug', '=', slug)),
      read(ofGuests.where('apps.slug', '=', slug)),
    ]),
  );
};

type Rows<Row> = (Row & ViewColumns & { issued_ms: number })[];

const viewFacts = ([[ofUser], [ofGuest]]: [Rows<OpenableAppOfUser>, Rows<OpenableApp>]) => {
  if (ofUser) return { app: ofUser, user: ofUser, view: ofUser, issued_ms: ofUser.issued_ms };
  return ofGuest ? { app: ofGuest, user: null, view: ofGuest, issued_ms: ofGuest.issued_ms } : null;
};

/** A view that has ended grants nothing. */
export const accessOf = ({ app, user, view }: TicketFacts): AppAccess => {
  if (view && !view.is_view_open) return 'not-granted';
  if (!user) return decideAccess({ ...app, user: null });
  return decideAccess(view ? factsOfView(user, view.by_superuser) : factsOf(user));
};
