import { type Kysely, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import type { Read } from '../../db/batched-reads.ts';
import { type Db, prepared } from '../../db/kysely.ts';
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

const USER = prepared((db, { appId, userId }: { appId: string; userId: number }) =>
  openableAppsOfUsers(db).select(issuedMs).where('apps.id', '=', appId).where('users.id', '=', userId),
);

const USER_OF_TICKET = prepared((db, { slug, handle }: { slug: string; handle: string }) =>
  openableAppsOfUsers(db).select(issuedMs).where('apps.slug', '=', slug).where('users.handle', '=', handle),
);

type UseKey = { appId: string; useId: number; now: Date };
const USER_OF_USE = prepared((db, { appId, useId, now }: UseKey) =>
  viewsOfUsers(db, now, isViewOfUse(useId)).where('apps.id', '=', appId),
);
const GUEST_OF_USE = prepared((db, { appId, useId, now }: UseKey) =>
  viewsOfGuests(db, now, isViewOfUse(useId)).where('apps.id', '=', appId),
);

type ViewKey = { slug: string; handle: string; viewId: number; now: Date };
const USER_OF_VIEW = prepared((db, { slug, handle, viewId, now }: ViewKey) =>
  viewsOfUsers(db, now, sql<boolean>`access_views.id = ${viewId}`)
    .where('apps.slug', '=', slug)
    .where('users.handle', '=', handle),
);
const GUEST_OF_VIEW = prepared((db, { slug, handle, viewId, now }: ViewKey) =>
  viewsOfGuests(db, now, sql<boolean>`access_views.id = ${viewId}`)
    .where('apps.slug', '=', slug)
    .where(sql<boolean>`${handle} = 'view:' || access_views.id`),
);

type Deps = { em: Db; read: Read; now: Date };

/** Null if the user, the app or the view does not exist. */
export const readFacts = async (deps: Deps, subject: TicketSubject): Promise<TicketFacts | null> => {
  const { em, read, now } = deps;
  if (subject.kind === 'user') {
    const [row] = await read(USER.bound(em, subject));
    return row ? { app: row, user: row, view: null, issued_ms: row.issued_ms } : null;
  }
  const key = { ...subject, now };
  return viewFacts(await Promise.all([read(USER_OF_USE.bound(em, key)), read(GUEST_OF_USE.bound(em, key))]));
};

/** As of now, of the user or the view that a ticket was issued to. */
export const readFactsOfTicket = async (deps: Deps, ticket: TicketClaims): Promise<TicketFacts | null> => {
  const { em, read, now } = deps;
  const { aud: slug, sub: handle, access_view: viewId } = ticket;
  if (viewId === null) {
    const [row] = await read(USER_OF_TICKET.bound(em, { slug, handle }));
    return row ? { app: row, user: row, view: null, issued_ms: row.issued_ms } : null;
  }
  const key = { slug, handle, viewId, now };
  return viewFacts(
    await Promise.all([read(USER_OF_VIEW.bound(em, key)), read(GUEST_OF_VIEW.bound(em, key))]),
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
