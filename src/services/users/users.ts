import { expressionBuilder, type RawBuilder, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { arrayOf, condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import type { ListStream, OpenList, RowEncoder } from '../../db/list-pages.ts';
import { countRows, type PageRequest, readPage } from '../../db/pagination.ts';
import type { Clock } from '../../lib/clock.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import { type Actor, canViewAll, requireLister } from '../access/actor.ts';
import { CLIENT_ADMIN } from '../access/permissions.ts';
import {
  appAccess,
  CLIENTS_OF_USER,
  globalRole,
  hasRole,
  hasRoles,
  heldRoleNames,
  isPerson,
  userClientVisibleTo,
  userVisibleTo,
  type Viewer,
} from '../access/visibility.ts';
import {
  appsSeenBy,
  clientsAdministered,
  loadUser,
  membershipColumns,
  membershipFields,
  membershipOrder,
  type UserDetail,
  type UserRow,
  userRows,
} from '../accounts/user-rows.ts';
import { requireViewableAppId, usageVisibleTo } from '../apps/app-rows.ts';
import { reloadActor } from '../auth/authentication.ts';
import { openListStream } from '../auth/open-list-stream.ts';
import { readClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type UserFilter, usersMatching } from './user-filter.ts';

/** Users of a table that are read at a time. */
const TABLE_PAGE_SIZE = 1_000;

export const createUsers = (unit: UnitOfWork) => {
  const { em, clock } = unit;
  const matching = async (actor: Actor, filter: Listing) =>
    (await listingQuery(em, actor, filter, clock.now())).users;

  return {
    /** @throws Problem `not-found` if the actor may not see the app or client, `invalid-input` on `cursor`, `sort` */
    list: async (actor: Actor, filter: Listing, page: PageRequest): Promise<UserRow[]> => {
      if (page.limit === undefined && page.page === undefined) requireUnsorted(filter);
      return readPage(await matching(actor, filter), 'users.id', page);
    },

    /**
     * A page of the console's list of people. Select columns here that only this list shows.
     * @throws the problems of `list`
     */
    people: async (actor: Actor, filter: Listing, page: PageRequest) => {
      const users = (await matching(actor, filter)).clearSelect();
      const columns = personColumns(actor, clock.now());
      return readPage(users.select(PERSON_COLUMNS).select(columns), 'users.id', page);
    },

    /** @throws Problem `not-found` if the actor may not see the app or client */
    count: async (actor: Actor, filter: Listing): Promise<number> => countRows(await matching(actor, filter)),

    /**
     * Streams the whole list.
     * @throws the problems of `list`
     */
    stream: (actor: Actor, filter: Listing, encoder: UserEncoder): Promise<ListStream> => {
      const open = async (viewer: Actor): Promise<OpenList> => {
        requireLister(viewer);
        requireUnsorted(filter);
        const listed = await listingQuery(em, viewer, filter, clock.now());
        return {
          encoder,
          page: (after, limit) =>
            pageOfUsers(em, viewer, listed, encoder, {
              after: Number(after?.[0] ?? 0),
              limit,
              now: clock.now(),
            }),
        };
      };
      return openListStream(unit, actor, open);
    },

    /**
     * Reads the matching users for a file, page by page, in their present order: a user whose key changes while it is read, for example by
     * a login, is neither lost nor repeated. Only ids are held in memory. While it is read, it may fail with `unauthenticated`.
     * @throws Problem `not-found` if the actor may not see the app or client
     */
    openTable: async (actor: Actor, filter: Listing): Promise<AsyncGenerator<UserRow[]>> => {
      requireLister(actor);
      const users = (await matching(actor, filter)).clearSelect();
      const ids = (await users.select('users.id').execute()).map(({ id }) => id);
      return readTable(em, clock, actor, ids);
    },

    /** @throws Problem `not-found` */
    get: (actor: Actor, email: string): Promise<UserDetail> => loadUser(unit, actor, email),
  };
};

const PERSON_COLUMNS = [
  ...(['users.email', 'users.handle', 'users.first_name', 'users.last_name'] as const),
  ...(['users.profile_avatar', 'users.last_login', 'users.date_joined'] as const),
] as const;

/** The columns that the list of people shows, if the viewer may see them. PostgreSQL computes them only for the rows of the page. */
const personColumns = (viewer: Viewer, now: Date) => {
  const isUsageVisible = canViewAll(viewer) ? sql`true` : usageVisibleTo(viewer);
  return [
    membershipColumns(viewer).is_active.as('is_active'),
    clientsAdministered(viewer).as('clientadmin_of'),
    arrayOf(appsSeenBy(viewer, now).select('a.label')).as('app_labels'),
    arrayOf(groupsSeenBy(viewer)).as('groups'),
    arrayOf(CLIENTS_OF_USER.where(isSeen(viewer))).as('clients'),
    globalRole().as('role'),
    rolesSeenBy(viewer).as('client_roles'),
    sql<string | null>`(select d.day::text from usage_days d where d.user_id = users.id and ${isUsageVisible}
      order by d.day desc limit 1)`.as('last_used_day'),
  ];
};

/** SQL: whether the viewer sees the membership `m` of a row of `users`. */
const isSeen = (viewer: Viewer) => userClientVisibleTo(viewer, sql`users.id`, sql`m.client_id`);

type ClientRoles = { client: number; roles: string[] };

/** The roles of a row of `users` in the clients that the viewer sees. */
const rolesSeenBy = (viewer: Viewer) => sql<ClientRoles[]>`coalesce((
  select json_agg(json_build_object('client', m.client_id, 'roles', ${heldRoleNames('m')}) order by m.client_id)
  from memberships m where m.user_id = users.id and ${hasRoles('m')} and ${isSeen(viewer)}), '[]')`;

/** The names of the groups of a row of `users` that the viewer may see. */
const groupsSeenBy = (viewer: Viewer) =>
  expressionBuilder<Database, 'users'>()
    .selectFrom('group_members as gm')
    .innerJoin('groups as gr', 'gr.id', 'gm.group_id')
    .select('gr.name')
    .whereRef('gm.user_id', '=', 'users.id')
    .where(userClientVisibleTo(viewer, sql`users.id`, sql`gr.client_id`))
    .orderBy(sql`lower(gr.name)`);

/** Whole lists are streamed ordered by id, which no change of a user affects. @throws Problem `invalid-input` on `sort` */
const requireUnsorted = ({ sort }: Listing): void => {
  if (sort !== undefined) throw invalid({ sort: ['Requires `limit`, `page` or `page_size`.'] });
};

async function* readTable(
  em: Em,
  clock: Clock,
  actor: Actor,
  ids: readonly number[],
): AsyncGenerator<UserRow[]> {
  for (let start = 0; start < ids.length; start += TABLE_PAGE_SIZE) {
    const viewer = await reloadActor(em, actor);
    if (!viewer) throw new Problem('unauthenticated');
    requireLister(viewer);
    const page = ids.slice(start, start + TABLE_PAGE_SIZE);
    const rows = await userRows(em, viewer, clock.now())
      .where(isAnyOf('users.id', page, 'int'))
      .where(userVisibleTo(viewer))
      .execute();
    const byId = new Map(rows.map((row) => [row.id, row]));
    yield page.flatMap((id) => byId.get(id) ?? []);
  }
}

/** All visible users, users with a grant of an app (by slug), or the members of a client. */
export type Listing = UserFilter & {
  app?: string | undefined;
  /** Users who have not used the app since the start of that UTC day. */
  last_used_before?: Date | undefined;
};

type Users = Awaited<ReturnType<typeof usersMatching>>;

type Listed = {
  users: Users;
  /**
   * The table whose `user_id` is the key of a page. The planner estimates that a third of all users follow any id, and would read these
   * instead of looking up the few members of an app or a client.
   */
  key: 'users' | 'granted' | 'memberships';
};

/** @throws Problem `not-found` if the actor may not see the app or client, `invalid-input` on `cursor`, `last_used_before` */
export const listingQuery = async (em: Em, actor: Actor, filter: Listing, now: Date): Promise<Listed> => {
  const { app, client, last_used_before: since } = filter;
  if (since !== undefined && app === undefined) throw invalid({ last_used_before: ['Requires app.'] });
  if (client !== undefined) await readClient(em, actor, client);
  const appId = app === undefined ? undefined : await requireViewableAppId(em, actor, now, app);
  const matching = await usersMatching(em, actor, filter, now);
  const users = since === undefined ? matching : matching.where(isUnusedSince(appId, since));
  if (client !== undefined) {
    const members = users
      .innerJoin('memberships', 'memberships.user_id', 'users.id')
      .where('memberships.client_id', '=', client)
      .where(isPerson);
    const isGranted = condition`exists (select from ${appAccess(now)} g
      where g.user_id = users.id and g.app_id = ${appId})`;
    return {
      users: asUsers(appId === undefined ? members : members.where(isGranted)),
      key: 'memberships',
    };
  }
  const visible = users.where(userVisibleTo(actor));
  if (appId === undefined) return { users: visible, key: 'users' };
  const granted = visible
    .innerJoin(
      sql<{ user_id: number }>`(select user_id from ${appAccess(now)} g where app_id = ${appId})`.as(
        'granted',
      ),
      'granted.user_id',
      'users.id',
    )
    .where(isPerson);
  return { users: asUsers(granted), key: 'granted' };
};

/** Whether a row of `users` has not used the app: of each, the primary key of the totals finds the days. */
const isUnusedSince = (appId: string | undefined, since: Date) => condition`not exists (
  select from usage_days d where d.app_id = ${appId} and d.user_id = users.id
    and d.day >= (${since}::timestamptz at time zone 'UTC')::date)`;

/** Callers select no columns of the joined table. */
const asUsers = (joined: unknown): Users => joined as Users;

type UserColumn = Exclude<keyof UserRow, 'id'>;
export type UserEncoder = RowEncoder<UserColumn>;

/**
 * A page of a whole list, ordered by id. The apps, roles and memberships of all its users are read together, which is much cheaper than
 * reading them per user.
 */
const pageOfUsers = (
  em: Em,
  viewer: Viewer,
  { users, key }: Listed,
  { columns }: UserEncoder,
  { after, limit, now }: { after: number; limit: number; now: Date },
) => {
  const readTogether: Record<string, RawBuilder<unknown>> = {
    ...READ_TOGETHER,
    ...membershipColumns(viewer),
  };
  const raw = new Set(['was_shared', 'date_joined', ...columns.filter((name) => !(name in READ_TOGETHER))]);
  const page = users
    .clearSelect()
    .select('users.id')
    .select([...raw].map((name) => sql.ref(`users.${name}`).as(name)))
    .where(condition`${sql.ref(key === 'users' ? 'users.id' : `${key}.user_id`)} > ${after}`)
    .limit(limit);
  return kysely(em)
    .with(
      (cte) => cte('users').materialized(),
      () => page,
    )
    .selectFrom('users')
    .leftJoin(grantsOfPage(viewer, now).as('granted'), 'granted.user_id', 'users.id')
    .leftJoin(rolesOfPage(viewer).as('administered'), 'administered.user_id', 'users.id')
    .leftJoin(membershipsOfPage(viewer).as('own'), 'own.user_id', 'users.id')
    .select(columns.map((name) => (readTogether[name] ?? sql.ref(`users.${name}`)).as(`output_${name}`)))
    .select('users.id')
    .orderBy('users.id');
};

/** Columns that are read together for all users of a page. */
const READ_TOGETHER: { [Column in UserColumn]?: RawBuilder<string> } = {
  apps: sql`coalesce(granted.apps, '[]')`,
  clientadmin_of: sql`coalesce(administered.client_ids, '[]')`,
};

const isOfPage = (userId: RawBuilder<number>) => condition`${userId} = any(array(select id from users))`;

/** `apps` is JSON, oldest first. */
const grantsOfPage = (viewer: Viewer, now: Date) => sql<{ user_id: number }>`(
  select g.user_id, '["' || string_agg(g.app_id, '","' order by a.created_at, a.id) || '"]' as apps
  from ${appAccess(now)} g join apps a on a.id = g.app_id
  where ${isOfPage(sql`g.user_id`)} and ${userClientVisibleTo(viewer, sql`g.user_id`, sql`a.client_id`)}
  group by g.user_id)`;

/** See `seenMembership`. */
const membershipsOfPage = (viewer: Viewer) => sql<{ user_id: number }>`(
  select distinct on (m.user_id) m.user_id, ${membershipFields(viewer, sql`m`)} from memberships m
  where ${isOfPage(sql`m.user_id`)} and ${userClientVisibleTo(viewer, sql`m.user_id`, sql`m.client_id`)}
  order by m.user_id, ${membershipOrder(viewer)})`;

/** `client_ids` is JSON. */
const rolesOfPage = (viewer: Viewer) => sql<{ user_id: number }>`(
  select m.user_id, '[' || string_agg(m.client_id::text, ',' order by m.client_id) || ']' as client_ids
  from memberships m
  where ${hasRole(CLIENT_ADMIN, 'm')} and ${isOfPage(sql`m.user_id`)} and ${userClientVisibleTo(viewer, sql`m.user_id`, sql`m.client_id`)}
  group by m.user_id)`;
