import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import { canViewAll } from '../access/actor.ts';
import {
  clientVisibleTo,
  hasGlobalRole,
  userVisibleTo,
  VIEWS_ALL,
  type Viewer,
} from '../access/visibility.ts';

/** An address, and the time in which it named the person: after `since`, and up to and including `until`. Null: without a limit. */
export type PersonAddress = { email: string; since: Date | null; until: Date | null };

/** `clients`: those of the person that had the person when the address was changed; for the present address, all. */
export type HeldAddress = PersonAddress & { clients: number[] };

type KnownAddress = HeldAddress & {
  isPresent: boolean;
  /** When the last change of it had ended; null for the present one. */
  changedAt: Date | null;
  /** Whether its mailbox has shown that it is the person's. */
  isVerified: boolean;
  /** Whether it is that of the holder of the account: verified, and not from before the account was handed over. */
  isHolders: boolean;
  /** Whether the viewer sees one of `clients`. */
  isKnown: boolean;
};

/** The entries of a change are written within this time after it. */
const CHANGE = sql`interval '10 seconds'`;

/**
 * The present and the former addresses of a person, under which they were recorded. One that another account had in between is two of them.
 * Another account limits the time of an address only if the viewer sees that account. An account whose address was never verified does not limit the time of one whose address was. An account that the provider of a client can
 * log in to is that client's as much as the person's: what others recorded under its address is not for it.
 */
const readAddresses = async (em: Em, viewer: Viewer, userId: number): Promise<KnownAddress[]> => {
  // What the next holder does begins with their account, or with the change to this address.
  const nextBegan = sql`(select min(began) from (
    select coalesce((select max(c.changed_at) from email_changes c where c.user_id = other.id
      and c.new_email = timed.email and c.changed_at < next.ended_at), other.date_joined) as began
    from (select id, 'infinity'::timestamptz as ended_at from users where email = timed.email
        union all select user_id, changed_at from email_changes
          where old_email = timed.email and changed_at > max(timed.changed_at)) as next
      join users other on other.id = next.id
    where other.id <> ${userId} and ${userVisibleTo(viewer, 'other')}) as holders where began > max(timed.changed_at))`;
  const endOfChange = sql`case when max(changed_at) is not null
    then least(max(changed_at) + ${CHANGE}, ${nextBegan} - interval '1 millisecond') end`;
  const { rows } = await sql<KnownAddress>`
    with held as (
      select id as user_id, email, null::timestamptz as changed_at, is_email_verified as is_verified,
        true as is_own
      from users where id = ${userId}
      union all select user_id, old_email, changed_at, was_verified and not is_disowned, is_own
      from email_changes where user_id = ${userId} and changed_at is not null),
    timed as (
      select *, coalesce(changed_at, 'infinity') as ended_at, (
        select max(before.changed_at) from email_changes before join users other on other.id = before.user_id
        where before.old_email = held.email and before.user_id <> ${userId}
          and before.changed_at < coalesce(held.changed_at, 'infinity') and ${userVisibleTo(viewer, 'other')}
          and (before.was_verified or not held.is_ever_verified)) as since
      from (select *, bool_or(is_verified) over (partition by email) as is_ever_verified from held) as held)
    select email, since, bool_or(changed_at is null) as "isPresent", ${endOfChange} as "changedAt",
      bool_or(is_verified) as "isVerified",
      case when bool_and(changed_at is not null) and (
        exists (select from users other where other.email = timed.email and ${userVisibleTo(viewer, 'other')})
        or exists (select from email_changes later join users other on other.id = later.user_id
          where later.old_email = timed.email and later.user_id <> ${userId}
            and later.changed_at > max(timed.changed_at) and ${userVisibleTo(viewer, 'other')}))
        then ${endOfChange} end as until,
      bool_or(is_verified and not exists (select from email_changes handed where handed.user_id = ${userId}
        and handed.changed_at >= timed.changed_at and not handed.is_own)) as "isHolders",
      array(select m.client_id from memberships m where m.user_id = ${userId}
        and coalesce(m.joined_at <= max(timed.ended_at), true)) as clients,
      exists (select from memberships m where m.user_id = ${userId}
        and coalesce(m.joined_at <= max(timed.ended_at), true) and ${clientVisibleTo(viewer, sql`m.client_id`)}) as "isKnown"
    from timed group by email, since order by "isPresent" desc, email`.execute(kysely(em));
  return rows;
};

/** The id of the user who has this address now, if the viewer may see them. */
export const findUserId = async (em: Em, viewer: Viewer, email: string): Promise<number | undefined> => {
  const holder = await kysely(em)
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .where(userVisibleTo(viewer))
    .executeTakeFirst();
  return holder?.id;
};

/** @throws Problem `not-found`, also for a user the viewer may not see */
export const readUserId = async (em: Em, viewer: Viewer, email: string): Promise<number> => {
  const id = await findUserId(em, viewer, email);
  if (id === undefined) throw notFound('user');
  return id;
};

/**
 * The addresses of a person. `own` are those that belong to the holder of the account. What others than the clients of the person have
 * recorded under `others` may be about someone else.
 */
export const readOwnAddresses = async (em: Em, userId: number) => {
  const addresses = await readAddresses(em, VIEWS_ALL, userId);
  return {
    own: addresses.filter(({ isHolders }) => isHolders),
    others: addresses.filter(({ isHolders }) => !isHolders),
  };
};

/** The present address of a person, and the former ones by whether their mailbox had shown that they were theirs. */
export const readAllAddresses = async (em: Em, userId: number) => {
  const addresses = await readAddresses(em, VIEWS_ALL, userId);
  const former = addresses.filter(({ isPresent }) => !isPresent);
  return {
    present: addresses.filter(({ isPresent }) => isPresent),
    // One from before the account was handed over may name its earlier holder again.
    verified: former
      .filter(({ isVerified }) => isVerified)
      .map(({ until, ...held }) => ({ ...held, until: held.isHolders ? until : held.changedAt })),
    unverified: former.filter(({ isVerified }) => !isVerified),
  };
};

/**
 * SQL: whether the holder of an account may see what a client recorded about it at this time. An admin who changes the address of an
 * account may give it to another person, who must not see what was recorded before, except by clients that have had the account since. An
 * account that a provider can log in to shows what the present clients of the person have recorded, and of the account itself what happened
 * since then.
 */
export const isForHolder = (
  userId: RawBuilder<unknown>,
  clientId: RawBuilder<unknown>,
  at: RawBuilder<unknown>,
) => condition`
  (not exists (select from email_changes handed where handed.user_id = ${userId}
      and handed.changed_at >= ${at} and not handed.is_own and not exists (select from memberships m
        where m.user_id = ${userId} and m.client_id = ${clientId} and coalesce(m.joined_at <= handed.changed_at, true)))
    or exists (select from users holder where holder.id = ${userId} and ${hasGlobalRole('holder')}))`;

/** The address, and the former ones of the person whose it is now, as far as they name this person to the viewer. */
export const readAddressesOf = async (em: Em, viewer: Viewer, email: string): Promise<PersonAddress[]> => {
  const id = await findUserId(em, viewer, email);
  if (id === undefined) return [{ email, since: null, until: null }];
  const addresses = await readAddresses(em, viewer, id);
  const seesAll = canViewAll(viewer);
  return addresses.filter(
    ({ isPresent, isHolders, isKnown }) => seesAll || isPresent || isKnown || (isHolders && id === viewer.id),
  );
};

/**
 * SQL: the address of a row of `users` that the viewer may know: the present one of users whom they see, and of others, who have left,
 * the one at that time.
 */
export const addressKnownTo = (viewer: Viewer, at: RawBuilder<unknown>) => sql<string | null>`
  case when ${userVisibleTo(viewer)} then users.email else coalesce(
    (select c.old_email from email_changes c where c.user_id = users.id and c.changed_at > ${at}
      order by c.changed_at, c.id limit 1),
    users.email) end`;

/** SQL: as `addressKnownTo`, of the user with an id; null without one. */
export const addressOf = (viewer: Viewer, userId: RawBuilder<unknown>, at: RawBuilder<unknown>) =>
  sql<string | null>`(select ${addressKnownTo(viewer, at)} from users where users.id = ${userId})`;

/**
 * Rows with one of these addresses, at a time at which it named the person. A single one is compared as such, so that rows can be read in the
 * order of an index.
 */
export const hasAddress = (column: string, at: string, addresses: readonly PersonAddress[]) => {
  const [first, ...others] = addresses.map((address) => isAddress(column, at, address));
  if (!first) return condition`false`;
  return others.length === 0 ? first : condition`(${sql.join([first, ...others], sql` or `)})`;
};

const isAddress = (column: string, at: string, { email, since, until }: PersonAddress) => {
  const isSame = condition`${sql.ref(column)} = ${email}`;
  return since || until ? condition`(${isSame} and ${isWithin(sql.ref(at), { since, until })})` : isSame;
};

/** SQL: whether an address that is held at these times names the person at this one. */
export const isWithin = (
  at: RawBuilder<unknown>,
  { since, until }: { since?: Date | null | undefined; until?: Date | null | undefined },
) => condition`
  (${since ? sql`${at} > ${since}::timestamptz` : sql`true`} and ${until ? sql`${at} <= ${until}::timestamptz` : sql`true`})`;
