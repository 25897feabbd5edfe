import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { colorOf } from '../people/new-user.ts';
import { tables } from '../tables.ts';
import type { DjangoUser } from './django-user.ts';

/** A user of a dump who has no fault of their own. */
export type DumpedUser = { position: number; pk: string; user: DjangoUser };

/** A user whose address an earlier record has. */
export type Repetition = DumpedUser & { firstPosition: number };

/**
 * A table for the users of a dump until all of it is read: it tells which addresses come twice, and takes no
 * memory here and no locks there. It is gone with the transaction.
 */
export const openStaging = (tx: SqlEntityManager) =>
  sql`
    create temporary table dumped_users (
      position int primary key,
      pk text not null,
      email varchar(254) not null unique,
      profile_color varchar(6) not null,
      password_hash varchar(512) null,
      first_name varchar(150) not null,
      last_name varchar(150) not null,
      is_active boolean not null,
      is_staff boolean not null,
      is_superuser boolean not null,
      last_login timestamptz(3) null,
      date_joined timestamptz(3) null
    ) on commit drop`.execute(tables(tx));

/** Adds users, and answers those whose address was there before, or comes earlier among them. */
export const stage = async (tx: SqlEntityManager, dumped: DumpedUser[]): Promise<Repetition[]> => {
  const taken = await insert(tx, dumped);
  const repeated = dumped.filter(({ position }) => !taken.has(position));
  if (repeated.length === 0) return [];
  const firstOf = await positionsOf(
    tx,
    repeated.map(({ user }) => user.email),
  );
  return repeated.map((item) => ({ ...item, firstPosition: firstOf.get(item.user.email) ?? 0 }));
};

const insert = async (tx: SqlEntityManager, dumped: DumpedUser[]): Promise<Set<number>> => {
  const users = dumped.map(({ user }) => user);
  const { rows } = await sql<{ position: number }>`
    insert into dumped_users
    select * from unnest(
      ${dumped.map(({ position }) => position)}::int[],
      ${dumped.map(({ pk }) => pk)}::text[],
      ${users.map(({ email }) => email)}::varchar[],
      ${users.map(({ email }) => colorOf(email))}::varchar[],
      ${users.map(({ password }) => password)}::varchar[],
      ${users.map(({ first_name: name }) => name)}::varchar[],
      ${users.map(({ last_name: name }) => name)}::varchar[],
      ${users.map(({ is_active: isActive }) => isActive)}::boolean[],
      ${users.map(({ is_staff: isStaff }) => isStaff)}::boolean[],
      ${users.map(({ is_superuser: isSuperuser }) => isSuperuser)}::boolean[],
      ${users.map(({ last_login: lastLogin }) => lastLogin)}::timestamptz[],
      ${users.map(({ date_joined: dateJoined }) => dateJoined)}::timestamptz[])
    on conflict (email) do nothing
    returning position`.execute(tables(tx));
  return new Set(rows.map(({ position }) => position));
};

const positionsOf = async (tx: SqlEntityManager, emails: string[]): Promise<Map<string, number>> => {
  const { rows } = await sql<{ email: string; position: number }>`
    select email, position from dumped_users where email = any(${emails}::varchar[])`.execute(tables(tx));
  return new Map(rows.map(({ email, position }) => [email, position]));
};

/** A staged user, and whether somebody in Steward has that address already. */
export type StagedUser = {
  position: number;
  pk: string;
  email: string;
  password_hash: string | null;
  exists: boolean;
};

/** The next users after a position, in the order of the file. */
export const nextStaged = async (
  tx: SqlEntityManager,
  after: number,
  size: number,
): Promise<StagedUser[]> => {
  const { rows } = await sql<StagedUser>`
    select d.position, d.pk, d.email, d.password_hash, u.id is not null as exists
    from dumped_users d left join users u on u.email = d.email
    where d.position > ${after}::int
    order by d.position limit ${size}::int`.execute(tables(tx));
  return rows;
};

/** Nothing else tells the planner how large the table has become. */
export const measureStaging = (tx: SqlEntityManager) => sql`analyze dumped_users`.execute(tables(tx));
