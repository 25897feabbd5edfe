import { createHash } from 'node:crypto';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { User } from '../../../entities/user.ts';
import { tables } from '../../db/kysely.ts';

const PALETTE = ['1f77b4', 'd6604d', '2a9d8f', '8e6bbf', 'c28f2c', '4d7c0f', 'b83280', '4f6d7a'];

/** Leaves room for the `@` and a number within the column's 64. */
const HANDLE_BASE_LENGTH = 50;

export type NewUser = {
  email: string;
  firstName?: string;
  lastName?: string;
  extra?: Record<string, unknown>;
  isDemoUser?: boolean;
  isStaff?: boolean;
  isSuperuser?: boolean;
};

/** Adds a user, with the defaults of a new one, to the unit of work. */
export const addUser = async (tx: SqlEntityManager, input: NewUser, now: Date): Promise<User> =>
  tx.create(User, {
    ...input,
    handle: await findFreeHandle(tx, input.email),
    profileColor: profileColorOf(input.email),
    dateJoined: now,
    lastPasswordSet: now,
  });

/** `@` and the address's local part. */
export const handleBase = (email: string): string =>
  `@${email.slice(0, email.indexOf('@')).slice(0, HANDLE_BASE_LENGTH)}`;

/**
 * Until the end of the transaction nobody else is given a handle: whoever adds users by the thousand would need a
 * lock for each of their bases, which are more than the server has room for.
 */
export const lockAllHandles = (tx: SqlEntityManager) =>
  sql`select pg_advisory_xact_lock(hashtextextended('handles', 0))`.execute(tables(tx));

/**
 * The base, made unique by the lowest free number from 2. Whoever asks for the same base, digits at its end aside
 * (`@ada` and `@ada2` both lead to `@ada22`), waits for the other's transaction to end, or both would find the
 * same handle free.
 */
const findFreeHandle = async (tx: SqlEntityManager, email: string): Promise<string> => {
  const base = handleBase(email);
  const db = tables(tx);
  await sql`select pg_advisory_xact_lock_shared(hashtextextended('handles', 0))`.execute(db);
  await sql`select pg_advisory_xact_lock(hashtextextended(${`handle ${base.replace(/\d+$/, '')}`}, 0))`.execute(
    db,
  );
  const found = await sql<{ handle: string }>`
    select handle from (
      select ${base}::text as handle, 1 as n
      union all
      select ${base} || n, n from (select generate_series(2, 1000000) as n) numbers
    ) candidates
    where not exists (select from users where users.handle = candidates.handle)
    limit 1`.execute(db);
  return found.rows[0]?.handle ?? base;
};

/** The same address has the same color everywhere, without anybody choosing it. */
export const profileColorOf = (email: string): string => {
  const hash = createHash('sha256').update(email).digest();
  return PALETTE[hash.readUInt16BE(0) % PALETTE.length] ?? '1f77b4';
};
