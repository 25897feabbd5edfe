import { type Kysely, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import type { Read } from '../../db/batched-reads.ts';
import { type Db, tables } from '../../db/kysely.ts';
import type { TicketClaims } from '../../lib/ticket-claims.ts';
import {
  type AppAccess,
  decideAccess,
  factsOf,
  factsOfView,
  type OpenableApp,
  type OpenableAppOfUser,
  openableApps,
  openableAppsOfUsers,
} from './app-access.ts';

/** Who opens an app: a user who is logged in, or a use of an access view. */
export type TicketSubject = {
  appId: string;
  /** For views, the stack of the view is opened. */
  stackSlug?: string | null | undefined;
} & ({ kind: 'user'; userId: number } | { kind: 'view'; useId: number });

/** What tickets are made of, and whether they may be. Read from the database for each ticket. */
export type TicketFacts = {
  app: OpenableApp;
  user: OpenableAppOfUser | null;
  view: ViewColumns | null;
  issued_ms: number;
};

const issuedMs = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::float8`.as('issued_ms');

/**
 * The time at which a view that opens an app once has expired is the last one to open it, not the end of what it opened.
 */
const isViewOpen = (now: Date) =>
  sql<boolean>`(access_views.is_active and (access_views.is_one_time
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
const isViewOfUse = (useId: number) => sql<boolean>`exists (
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

type Deps = { em: Db; read: Read; now: Date };

/** Null if the user, the app or the view does not exist. */
export const readFacts = async (deps: Deps, subject: TicketSubject): Promise<TicketFacts | null> => {
  const { em, read, now } = deps;
  const db = tables(em);
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

/** As of now, of the user or the view that a ticket was issued to. */
export const readFactsOfTicket = async (deps: Deps, ticket: TicketClaims): Promise<TicketFacts | null> => {
  const { em, read, now } = deps;
  const { aud: slug, sub: handle, access_view: viewId } = ticket;
  const db = tables(em);
  if (viewId === null) {
    const users = openableAppsOfUsers(db).select(issuedMs).where('users.handle', '=', handle);
    const [row] = await read(users.where('apps.slug', '=', slug));
    return row ? { app: row, user: row, view: null, issued_ms: row.issued_ms } : null;
  }
  const isView = sql<boolean>`access_views.id = ${viewId}`;
  const ofUsers = viewsOfUsers(db, now, isView).where('users.handle', '=', handle);
  const ofGuests = viewsOfGuests(db, now, isView).where(sql<boolean>`${handle} = 'view:' || access_views.id`);
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
