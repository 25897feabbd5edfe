import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { handleBase, lockAllHandles } from '../../services/users/user-creation.ts';
import type { StagedUser } from './staging.ts';

type InsertOptions = { clientId: number | null; now: Date };

/**
 * Inserts staged users with new addresses, in chunks. No other users can be inserted until the end of the transaction, because
 * it locks all handles.
 */
export const openUserInserter = async (tx: Db, options: InsertOptions) => {
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
const takenAmong = async (tx: Db, handles: string[]): Promise<string[]> => {
  const { rows } = await sql<{ handle: string }>`
    select handle from users where handle = any(${handles}::varchar[])
    union
    select handle from dumped_users where handle = any(${handles}::varchar[])`.execute(tables(tx));
  return rows.map(({ handle }) => handle);
};

/** Django's user model does not store when a password was set. */
const insert = (tx: Db, positions: number[], handles: string[], { clientId, now }: InsertOptions) =>
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
