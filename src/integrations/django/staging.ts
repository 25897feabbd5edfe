import { sql } from 'kysely';
import { PASSWORD_HASH_KIND } from '../../../entities/user.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { handleBase, lockAllHandles, profileColorOf } from '../../services/users/user-creation.ts';
import type { DjangoUser } from './user.ts';

/** A user of a dump whose record is valid. */
type DumpedUser = { position: number; pk: string; user: DjangoUser };

/** A user with the address or handle of an earlier record. */
type Repetition = DumpedUser & { field: 'email' | 'handle'; firstPosition: number };

/**
 * Creates a temporary table for the users of a dump until all of it is read. It detects repeated addresses and handles without
 * holding all users in memory, and without locks on `users`.
 */
export const openStaging = (tx: Em) =>
  sql`
    create temporary table dumped_users (
      position int primary key,
      pk text not null,
      email varchar(254) not null unique,
      handle varchar(64) null unique,
      extra text not null,
      profile_color varchar(6) not null,
      profile_avatar varchar(2048) null,
      password_hash varchar(512) null,
      first_name varchar(150) not null,
      last_name varchar(150) not null,
      is_active boolean not null,
      is_demo_user boolean not null,
      is_staff boolean not null,
      is_superuser boolean not null,
      last_login timestamptz(3) null,
      date_joined timestamptz(3) null,
      last_activated timestamptz(3) null,
      last_deactivated timestamptz(3) null,
      last_password_set timestamptz(3) null
    ) on commit drop`.execute(kysely(tx));

/** Stages users. Returns those with the address or handle of an earlier record. */
export const stage = async (tx: Em, dumped: DumpedUser[]): Promise<Repetition[]> => {
  const taken = await insert(tx, dumped);
  const repeated = dumped.filter(({ position }) => !taken.has(position));
  if (repeated.length === 0) return [];
  const firsts = await firstsOf(
    tx,
    repeated.map(({ user }) => user),
  );
  return repeated.flatMap((item) =>
    (['email', 'handle'] as const).flatMap((field) => {
      const firstPosition = firsts.get(`${field} ${item.user[field]}`);
      return firstPosition === undefined ? [] : [{ ...item, field, firstPosition }];
    }),
  );
};

const insert = async (tx: Em, dumped: DumpedUser[]): Promise<Set<number>> => {
  const records = dumped.map(({ position, pk, user }) => ({
    ...{ ...user, position, pk, password_hash: user.password },
    // As text: PostgreSQL parses nested JSON more strictly than a value of type json.
    extra: JSON.stringify(user.extra),
    profile_color: user.profile_color ?? profileColorOf(user.email),
  }));
  const { rows } = await sql<{ position: number }>`
    insert into dumped_users
    select * from json_populate_recordset(null::dumped_users, ${JSON.stringify(records)}::json)
    on conflict do nothing
    returning position`.execute(kysely(tx));
  return new Set(rows.map(({ position }) => position));
};

/** Positions of staged users by `email ADDRESS` and `handle HANDLE`. */
const firstsOf = async (tx: Em, users: DjangoUser[]): Promise<Map<string, number>> => {
  const { rows } = await sql<{ key: string; position: number }>`
    select 'email ' || email as key, position from dumped_users
    where email = any(${users.map(({ email }) => email)}::varchar[])
    union all
    select 'handle ' || handle, position from dumped_users
    where handle = any(${users.map(({ handle }) => handle)}::varchar[])`.execute(kysely(tx));
  return new Map(rows.map(({ key, position }) => [key, position]));
};

type TakenHandle = { position: number; pk: string; email: string; handle: string };

/** New users with the handle of an existing user. */
export const takenHandles = async (tx: Em): Promise<TakenHandle[]> => {
  const { rows } = await sql<TakenHandle>`
    select d.position, d.pk, d.email, d.handle from dumped_users d
    join users other on other.handle = d.handle
    where not exists (select from users u where u.email = d.email)
    order by d.position`.execute(kysely(tx));
  return rows;
};

/** The kinds of password hashes of staged users. */
export const stagedHashKinds = async (tx: Em): Promise<string[]> => {
  const { rows } = await sql<{ kind: string }>`
    select distinct ${sql.raw(PASSWORD_HASH_KIND)} as kind from dumped_users
    where is_active and password_hash is not null`.execute(kysely(tx));
  return rows.flatMap(({ kind }) => kind ?? []);
};

/** `exists`: a user with this email address exists. */
export type StagedUser = {
  position: number;
  pk: string;
  email: string;
  handle: string | null;
  password_hash: string | null;
  exists: boolean;
};

/** The next staged users after a position. */
export const nextStaged = async (tx: Em, after: number, size: number): Promise<StagedUser[]> => {
  const { rows } = await sql<StagedUser>`
    select d.position, d.pk, d.email, d.handle, d.password_hash, u.id is not null as exists
    from dumped_users d left join users u on u.email = d.email
    where d.position > ${after}::int
    order by d.position limit ${size}::int`.execute(kysely(tx));
  return rows;
};

/** Autovacuum does not analyze temporary tables. */
export const analyzeStaging = (tx: Em) => sql`analyze dumped_users`.execute(kysely(tx));

type InsertOptions = { clientId: number | null; now: Date };

/**
 * Inserts staged users with new addresses, in chunks. No other users can be inserted until the end of the transaction, because
 * it locks all handles.
 */
export const openUserInserter = async (tx: Em, options: InsertOptions) => {
  await lockAllHandles(tx);
  const allocateHandles = createHandleAllocator((handles) => takenAmong(tx, handles));

  return async (users: readonly StagedUser[]): Promise<void> => {
    const given = await allocateHandles(
      users.filter(({ handle }) => handle === null).map(({ email }) => handleBase(email)),
    );
    const rest = given.values();
    const handles = users.map(({ handle }) => handle ?? rest.next().value ?? '');
    await insertUsers(
      tx,
      users.map(({ position }) => position),
      handles,
      options,
    );
  };
};

/** Which of these handles belong to a user or a staged user. */
const takenAmong = async (tx: Em, handles: string[]): Promise<string[]> => {
  const { rows } = await sql<{ handle: string }>`
    select handle from users where handle = any(${handles}::varchar[])
    union
    select handle from dumped_users where handle = any(${handles}::varchar[])`.execute(kysely(tx));
  return rows.map(({ handle }) => handle);
};

/** Django's user model does not store when a password was set. */
const insertUsers = (tx: Em, positions: number[], handles: string[], { clientId, now }: InsertOptions) =>
  sql`
    with added as (
      insert into users (email, handle, extra, profile_color, profile_avatar, password_hash, first_name, last_name,
        is_active, is_demo_user, is_staff, is_superuser, last_login, date_joined, last_activated, last_deactivated,
        last_password_set)
      select email, placed.handle, extra::json, profile_color, profile_avatar, password_hash, first_name, last_name,
        is_active, is_demo_user, is_staff, is_superuser, last_login, coalesce(date_joined, ${now}::timestamptz),
        last_activated, last_deactivated, coalesce(last_password_set, ${now}::timestamptz)
      from dumped_users
      join unnest(${positions}::int[], ${handles}::varchar[]) as placed (position, handle) using (position)
      order by position
      returning id
    )
    insert into memberships (client_id, user_id)
    select ${clientId}::int, id from added where ${clientId}::int is not null`.execute(kysely(tx));

/** Bases that have used fewer numbers are not kept between calls: most have one user. */
const MIN_REMEMBERED = 64;
/** Each round tries twice as many numbers per user as the one before, up to this limit. */
const MAX_NUMBERS_EACH = 1024;

/**
 * Returns a function that finds a free handle for each base: the base itself, or the base with the lowest free number from 2.
 * The handles must be in use before the next call, and no other process may create handles at the same time.
 * @param takenAmong returns those of the handles that are in use
 */
export const createHandleAllocator = (takenAmong: (handles: string[]) => Promise<string[]>) => {
  /** By base; all lower numbers are taken. */
  const nextNumbers = new Map<string, number>();

  return async (bases: readonly string[]): Promise<string[]> => {
    const assigned = new Map<number, string>();
    // `@ada2` may be the second handle of `@ada`, or the first of `@ada2`.
    const used = new Set<string>();
    for (let each = 1; assigned.size < bases.length; each = Math.min(each * 2, MAX_NUMBERS_EACH)) {
      const open = [...bases.entries()].filter(([index]) => !assigned.has(index));
      const waiting = Map.groupBy(open, ([, base]) => base);
      const candidates = [...waiting].flatMap(([base, users]) =>
        candidatesOf(base, nextNumbers.get(base) ?? 1, users.length * each),
      );
      for (const handle of await takenAmong(candidates.map(({ handle }) => handle))) used.add(handle);
      for (const { base, number, handle } of candidates) {
        const [user] = waiting.get(base) ?? [];
        if (!user) continue;
        nextNumbers.set(base, number + 1);
        if (used.has(handle)) continue;
        used.add(handle);
        assigned.set(user[0], handle);
        waiting.get(base)?.shift();
      }
    }
    for (const [base, number] of nextNumbers) if (number <= MIN_REMEMBERED) nextNumbers.delete(base);
    return bases.map((_base, index) => assigned.get(index) ?? '');
  };
};

const candidatesOf = (base: string, first: number, count: number) =>
  Array.from({ length: count }, (_, offset) => {
    const number = first + offset;
    return { base, number, handle: number === 1 ? base : `${base}${number}` };
  });
