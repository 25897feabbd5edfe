import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { User } from '../../../entities/user.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { claimAddress } from './addresses.ts';

const PALETTE = ['1f77b4', 'd6604d', '2a9d8f', '8e6bbf', 'c28f2c', '4d7c0f', 'b83280', '4f6d7a'];

/** Leaves room for the `@` and a number within the column's 64. */
const HANDLE_BASE_LENGTH = 50;

type Given =
  | 'isEmailVerified'
  | 'firstName'
  | 'lastName'
  | 'extra'
  | 'isDemoUser'
  | 'isStaff'
  | 'isSuperuser';

export type NewUser = Partial<Pick<User, Given>> & { email: string };

/** Adds a user with defaults to the unit of work. @throws Problem `user-exists` if the address is reserved */
export const addUser = async (tx: Em, input: NewUser, now: Date): Promise<User> => {
  await claimAddress(tx, now, { to: input.email });
  return tx.create(User, {
    ...input,
    handle: await findFreeHandle(tx, input.email),
    profileColor: profileColorOf(input.email),
    dateJoined: now,
    lastPasswordSet: now,
  });
};

/** `@` and the local part of the address. */
export const handleBase = (email: string): string =>
  `@${email.slice(0, email.indexOf('@')).slice(0, HANDLE_BASE_LENGTH)}`;

/** Locks all handles until the end of the transaction, for bulk inserts: one lock per handle would exceed the lock table of the server. */
export const lockAllHandles = (tx: Em) =>
  sql`select pg_advisory_xact_lock(hashtextextended('handles', 0))`.execute(kysely(tx));

/**
 * Appends the lowest free number from 2 if the handle is taken. Locks the base without trailing digits (`@ada` and `@ada2` may both become
 * `@ada22`) until the end of the transaction, so that concurrent transactions cannot pick the same handle.
 */
const findFreeHandle = async (tx: Em, email: string): Promise<string> => {
  const base = handleBase(email);
  const db = kysely(tx);
  const key = `handle ${base.replace(/\d+$/, '')}`;
  await sql`select pg_advisory_xact_lock_shared(hashtextextended('handles', 0)),
    pg_advisory_xact_lock(hashtextextended(${key}, 0))`.execute(db);
  const found = await sql<{ handle: string }>`
    select handle from (
      select ${base}::text as handle
      union all
      select ${base} || n from generate_series(2, 1000000) as n
    ) candidates
    where not exists (select from users where users.handle = candidates.handle)
    limit 1`.execute(db);
  return found.rows[0]?.handle ?? base;
};

/** Derives the color from the address, so that it is the same in every installation. */
export const profileColorOf = (email: string): string => {
  const hash = createHash('sha256').update(email).digest();
  return PALETTE[hash.readUInt16BE(0) % PALETTE.length] ?? '1f77b4';
};
