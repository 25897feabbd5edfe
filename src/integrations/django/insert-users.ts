import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { handleBase, lockAllHandles } from '../../services/users/new-user.ts';
import type { StagedUser } from './staging.ts';

type InsertOptions = { clientId: number | null; now: Date };

/**
 * Inserts staged users with new addresses, in chunks. No other users can be inserted until the end of the transaction, because
 * it locks all handles.
 */
export const openUserInserter = async (tx: SqlEntityManager, options: InsertOptions) => {
  await lockAllHandles(tx);
  const allocateHandles = createHandleAllocator((handles) => takenAmong(tx, handles));

  return async (users: readonly StagedUser[]): Promise<void> => {
    const given = await allocateHandles(
      users.filter(({ handle }) => handle === null).map(({ email }) => handleBase(email)),
    );
    const rest = given.values();
    const handles = users.map(({ handle }) => handle ?? rest.next().value ?? '');
    await insert(
      tx,
      users.map(({ position }) => position),
      handles,
      options,
    );
  };
};

/** Which of these handles belong to a user or a staged user. */
const takenAmong = async (tx: SqlEntityManager, handles: string[]): Promise<string[]> => {
  const { rows } = await sql<{ handle: string }>`
    select handle from users where handle = any(${handles}::varchar[])
    union
    select handle from dumped_users where handle = any(${handles}::varchar[])`.execute(tables(tx));
  return rows.map(({ handle }) => handle);
};

/** Django's user model does not store when a password was set. */
const insert = (
  tx: SqlEntityManager,
  positions: number[],
  handles: string[],
  { clientId, now }: InsertOptions,
) =>
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
    select ${clientId}::int, id from added where ${clientId}::int is not null`.execute(tables(tx));

/** Bases that have used fewer numbers are not kept between calls: most have one user. */
const MIN_REMEMBERED = 64;
/** Each round tries twice as many numbers per user as the one before, up to this limit. */
const MAX_NUMBERS_EACH = 1024;

/** The users with the same base, by index. All numbers below `next` are taken. */
type Group = { base: string; next: number; waiting: number[] };

/**
 * Returns a function that finds a free handle for each base: the base itself, or the base with the lowest free number from 2.
 * The handles must be in use before the next call, and no other process may create handles at the same time.
 * @param takenAmong returns those of the handles that are in use
 */
export const createHandleAllocator = (takenAmong: (handles: string[]) => Promise<string[]>) => {
  const remembered = new Map<string, number>();

  return async (bases: readonly string[]): Promise<string[]> => {
    const groups = groupByBase(bases, remembered);
    const assigned = new Map<number, string>();
    // `@ada2` may be the second handle of `@ada`, or the first of `@ada2`.
    const used = new Set<string>();
    for (let each = 1; assigned.size < bases.length; each = Math.min(each * 2, MAX_NUMBERS_EACH)) {
      const open = groups.filter(({ waiting }) => waiting.length > 0);
      const offers = open.map((group) => ({ group, numbers: nextNumbers(group, each) }));
      const candidates = offers.flatMap(({ group, numbers }) => numbers.map((n) => handleOf(group.base, n)));
      for (const handle of await takenAmong(candidates)) used.add(handle);
      for (const { group, numbers } of offers) assignHandles(group, numbers, used, assigned);
    }
    for (const { base, next } of groups) if (next > MIN_REMEMBERED) remembered.set(base, next);
    return bases.map((_base, index) => assigned.get(index) ?? '');
  };
};

const groupByBase = (bases: readonly string[], remembered: Map<string, number>): Group[] => {
  const groups = new Map<string, Group>();
  for (const [index, base] of bases.entries()) {
    const group = groups.get(base) ?? { base, next: remembered.get(base) ?? 1, waiting: [] };
    group.waiting.push(index);
    groups.set(base, group);
  }
  return [...groups.values()];
};

const nextNumbers = ({ next, waiting }: Group, each: number): number[] =>
  Array.from({ length: waiting.length * each }, (_, offset) => next + offset);

const handleOf = (base: string, n: number): string => (n === 1 ? base : `${base}${n}`);

const assignHandles = (
  group: Group,
  numbers: number[],
  used: Set<string>,
  assigned: Map<number, string>,
): void => {
  for (const n of numbers) {
    const [index] = group.waiting;
    if (index === undefined) return;
    group.next = n + 1;
    const handle = handleOf(group.base, n);
    if (used.has(handle)) continue;
    used.add(handle);
    assigned.set(index, handle);
    group.waiting.shift();
  }
};
