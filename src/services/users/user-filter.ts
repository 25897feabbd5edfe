import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, hasWords, kysely } from '../../db/kysely.ts';
import { afterCursor, cursorRow } from '../../db/pagination.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import { CLIENT_ROLES, GLOBAL_ROLES } from '../access/permissions.ts';
import {
  accountVisibleTo,
  clientVisibleTo,
  hasClientRole,
  isServiceAccount,
  userVisibleTo,
  type Viewer,
} from '../access/visibility.ts';
import { membershipColumns, userRows } from '../accounts/user-rows.ts';
import { usageVisibleTo } from '../apps/app-rows.ts';
import { HAS_SECOND_FACTOR } from '../auth/credentials.ts';
import { passwordExpiresAt } from '../policies/password-expiry.ts';
import { isUnseenSince, lastLoginKey } from './idleness.ts';

/** `member`: no other role. A user may have several of the other roles. */
export const USER_ROLES = [
  ...GLOBAL_ROLES.map(({ name }) => name),
  ...CLIENT_ROLES.map(({ name }) => name),
  'member' as const,
];
type UserRole = (typeof USER_ROLES)[number];

const LAST_LOGIN_KEY = lastLoginKey();

type Key = { column: RawBuilder<unknown>; type: RawBuilder<unknown> };

/** Each pair of expression and id is indexed. `email` uses its unique index. */
const KEYS = {
  email: { column: sql`users.email`, type: sql`varchar` },
  name: { column: sql`lower(users.last_name || ' ' || users.first_name)`, type: sql`text` },
  last_login: { column: LAST_LOGIN_KEY, type: sql`timestamptz` },
  date_joined: { column: sql`users.date_joined`, type: sql`timestamptz` },
} satisfies Record<string, Key>;

export const USER_SORTS = [
  ...(['email', '-email', 'name', '-name'] as const),
  ...(['last_login', '-last_login', 'date_joined', '-date_joined'] as const),
] as const;

/** The name of a key; a leading `-` means descending order. */
type UserSort = (typeof USER_SORTS)[number];

export type UserFilter = {
  /** Words that must all occur in the address or the names. */
  search?: string | undefined;
  is_active?: boolean | undefined;
  role?: UserRole | undefined;
  /** Selects members of the group, if the viewer may see it. */
  group?: number | undefined;
  /** Exclusive; users who never logged in do not match. */
  last_login_before?: Date | undefined;
  last_login_after?: Date | undefined;
  never_logged_in?: boolean | undefined;
  /** Exclusive; users who neither logged in nor used an app that the viewer may see since the start of that UTC day. */
  last_seen_before?: Date | undefined;
  /** Active users only, by the policies of clients that the viewer may see. */
  password_expired?: boolean | undefined;
  /** Whether a user has a second factor. Matches only users whose account the viewer may change. */
  second_factor?: boolean | undefined;
  /** The client that `role` refers to, by default any. */
  client?: number | undefined;
  sort?: UserSort | undefined;
  /** The address of the last user of the previous page. */
  cursor?: string | undefined;
};

/** Must equal the expression of the index `users_search`. */
const SEARCHED = sql`lower(users.email || ' ' || users.first_name || ' ' || users.last_name)`;

/**
 * Users that match the filter, with columns as the actor sees them. Callers add the condition on which users are visible.
 * @throws Problem `invalid-input` on `cursor`
 */
export const usersMatching = async (em: Em, actor: Actor, filter: UserFilter, now: Date) => {
  let rows = await sortUsers(em, actor, userRows(em, actor, now), filter);
  for (const condition of conditionsOf(actor, filter, now)) rows = rows.where(condition);
  return rows;
};

const conditionsOf = (viewer: Viewer, filter: UserFilter, now: Date): RawBuilder<boolean>[] => {
  const conditions: RawBuilder<boolean>[] = [condition`not ${isServiceAccount()}`];
  if (filter.is_active !== undefined)
    conditions.push(sql`${membershipColumns(viewer).is_active} = ${filter.is_active}`);
  if (filter.search !== undefined) conditions.push(hasWords(SEARCHED, filter.search));
  if (filter.role !== undefined) conditions.push(hasRole(viewer, filter.role, filter.client));
  if (filter.group !== undefined) conditions.push(isInGroup(viewer, filter.group));
  if (filter.last_login_before !== undefined) {
    conditions.push(sql`users.last_login < ${filter.last_login_before}`);
    // The condition above implies this, but with it, the index by last login skips users who never logged in.
    if (filter.sort === 'last_login') conditions.push(sql`${LAST_LOGIN_KEY} > '-infinity'`);
  }
  if (filter.last_login_after !== undefined)
    conditions.push(sql`users.last_login >= ${filter.last_login_after}`);
  if (filter.never_logged_in !== undefined)
    conditions.push(
      filter.never_logged_in ? sql`users.last_login is null` : sql`users.last_login is not null`,
    );
  if (filter.last_seen_before !== undefined) {
    const isVisible = canViewAll(viewer) ? sql`true` : usageVisibleTo(viewer);
    conditions.push(isUnseenSince(sql`${filter.last_seen_before}::timestamptz`, isVisible));
  }
  if (filter.password_expired !== undefined) {
    const hasExpired = hasExpiredPassword(viewer, now);
    conditions.push(filter.password_expired ? hasExpired : sql`not ${hasExpired}`);
  }
  if (filter.second_factor !== undefined) {
    const isWanted = filter.second_factor ? HAS_SECOND_FACTOR : condition`not ${HAS_SECOND_FACTOR}`;
    // Other users match neither value: a match would reveal the other one.
    conditions.push(accountVisibleTo(viewer), isWanted);
  }
  return conditions;
};

const hasRole = (viewer: Viewer, role: UserRole, client: number | undefined): RawBuilder<boolean> => {
  const roles = new Map<UserRole, RawBuilder<boolean>>([
    ...GLOBAL_ROLES.map(({ name, column }) => [name, condition`${sql.ref(`users.${column}`)}`] as const),
    ...CLIENT_ROLES.map(
      (clientRole) => [clientRole.name, hasClientRole(viewer, clientRole, client)] as const,
    ),
  ]);
  // Members have no other role.
  return roles.get(role) ?? sql`not (${sql.join([...roles.values()], sql` or `)})`;
};

const isInGroup = (viewer: Viewer, group: number): RawBuilder<boolean> => sql`
  users.id in (select gm.user_id from group_members gm join groups gr on gr.id = gm.group_id
    where gr.id = ${group} and ${clientVisibleTo(viewer, sql`gr.client_id`)})`;

/**
 * The rule of the login, limited to clients that the viewer sees. The shortest expiry of these clients bounds the age of the password, so
 * that the index `users_password_age` finds the few candidates.
 */
const hasExpiredPassword = (viewer: Viewer, now: Date): RawBuilder<boolean> => sql`
  (users.is_active and users.password_hash is not null
    and users.last_password_set < ${now}::timestamptz - interval '24 hours' * (
      select min(c.password_expiration_days) from clients c
      where c.password_expiration_days > 0 and ${clientVisibleTo(viewer, sql`c.id`)})
    and ${passwordExpiresAt('users', clientVisibleTo(viewer, sql`c.id`))} < ${now}::timestamptz)`;

type Users = ReturnType<typeof userRows>;
type Order = { sort?: UserSort | undefined; cursor?: string | undefined };

/**
 * Orders users by a key and id, or only by id, and starts after the user of the cursor.
 * @throws Problem `invalid-input` on `cursor`
 */
const sortUsers = async (em: Em, actor: Actor, users: Users, { sort, cursor }: Order): Promise<Users> => {
  if (sort === undefined) {
    const after = cursor === undefined ? undefined : (await findCursor(em, actor, cursor)).id;
    return afterCursor(users, 'users.id', after);
  }
  const { column, type } = keyOf(sort);
  const [direction, isAfter] = sort.startsWith('-') ? (['desc', '<'] as const) : (['asc', '>'] as const);
  const sorted = users.clearOrderBy().orderBy(column, direction).orderBy('users.id', direction);
  if (cursor === undefined) return sorted;
  const { id, key } = await findCursor(em, actor, cursor, column);
  return sorted.where(condition`(${column}, users.id) ${sql.raw(isAfter)} (${key}::${type}, ${id}::int)`);
};

const keyOf = (sort: UserSort): Key => {
  const found = Object.entries(KEYS).find(([name]) => name === sort.replace('-', ''));
  if (!found) throw new Error(`${sort} is no sort order of users.`);
  return found[1];
};

/** Cursors are addresses, because the API does not expose the ids of users. */
const findCursor = (em: Em, actor: Actor, email: string, key: RawBuilder<unknown> = sql`null`) =>
  cursorRow(
    kysely(em)
      .selectFrom('users')
      .select(['users.id', sql<string>`${key}::text`.as('key')])
      .where('users.email', '=', email)
      .where(userVisibleTo(actor)),
  );
