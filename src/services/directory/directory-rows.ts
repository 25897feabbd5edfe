import { type RawBuilder, sql } from 'kysely';
import type { DirectoryMode } from '../../../entities/directory.ts';
import { type Condition, condition, type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { type Actor, serviceActor } from '../access/actor.ts';
import { confirmActor } from '../auth/authentication.ts';
import { isProved } from '../clients/connection-lookup.ts';

export { DIRECTORY_MODES } from '../../../entities/directory.ts';

/**
 * A directory that acts: its client, and the service account of its token with the rights of an admin of the client. `caller`: as the token
 * was found; null: what it has stated earlier is applied.
 */
export type ActingDirectory = { client: number; actor: Actor; caller: Actor | null };

/** The directory that a service account of the client speaks for. It changes memberships and groups of this client alone. */
export const actingFor = (
  client: number,
  { id, email }: Pick<Actor, 'id' | 'email'>,
  caller: Actor | null = null,
): ActingDirectory => ({ client, caller, actor: { ...serviceActor(client), id, email } });

/**
 * Runs a change by a directory in a transaction, in which its token must still be valid before the commit.
 * @throws Problem `unauthenticated`, `role-lost`
 */
export const changeAs = <T>(em: Em, { caller }: ActingDirectory, work: (tx: Em) => Promise<T>): Promise<T> =>
  em.transactional(async (tx) => {
    const result = await work(tx);
    if (caller) await confirmActor(tx, caller);
    return result;
  });

export type DirectorySettings = { mode: DirectoryMode; attributes: Record<string, string> };

const DEFAULTS: DirectorySettings = { mode: 'show', attributes: {} };

/** The settings of a directory; of one that was never used or set, the defaults. */
export const readSettings = async (em: Em, client: number): Promise<DirectorySettings> =>
  (await kysely(em)
    .selectFrom('directories')
    .select(['mode', 'attributes'])
    .where('client_id', '=', client)
    .executeTakeFirst()) ?? DEFAULTS;

/** Keeps the settings as they are until the transaction ends. A lock of the row would make each request of a directory write it. */
export const shareSettings = async (tx: Em, client: number): Promise<DirectorySettings> => {
  await sql`select pg_advisory_xact_lock_shared(${settingsKey(client)})`.execute(kysely(tx));
  return readSettings(tx, client);
};

/** Locks the settings of a directory against other changes, and against requests of the directory. */
export const lockSettings = async (tx: Em, client: number): Promise<DirectorySettings> => {
  await sql`select pg_advisory_xact_lock(${settingsKey(client)})`.execute(kysely(tx));
  await addDirectory(tx, client);
  return readSettings(tx, client);
};

const settingsKey = (client: number) => sql`hashtextextended(${`settings of the directory of ${client}`}, 0)`;

const addDirectory = (tx: Em, client: number) =>
  sql`insert into directories (client_id) values (${client}) on conflict do nothing`.execute(kysely(tx));

/**
 * What would make the membership of a person as the directory states it:
 * - `join`, `adopt`: they become a member; a member who was not of the directory becomes one of it
 * - `invite`, `revoke`: about the invitation of a person whose address is of a domain that the client has not verified
 * - `suspend`, `reactivate`, `update`, `remove`: about a membership
 * - `forget`: about nothing but the row
 */
export const PERSON_CHANGES = [
  'join',
  'adopt',
  'invite',
  'update',
  'reactivate',
  'suspend',
  'revoke',
  'remove',
  'forget',
] as const;
export type PersonChange = (typeof PERSON_CHANGES)[number];

/** SQL: the tables of `personChange`: the row `d`, the account `u`, the membership `m`, the invitation `i`. */
export const PERSON_TABLES = sql`directory_people d
  left join users u on u.id = coalesce(d.user_id, (select known.id from users known where known.email = d.email))
  left join memberships m on m.client_id = d.client_id and m.user_id = u.id
  left join invitations i on i.id = d.invitation_id`;

/** SQL: whether the client has verified the domain of the person's address. */
const IS_OF_CLIENT = condition`exists (select from client_domains
  where client_domains.client_id = d.client_id and client_domains.domain = split_part(d.email, '@', 2) and ${isProved})`;

/** SQL: whether the person has an invitation that they can still accept. */
const isInvited = (now: Date): Condition =>
  condition`coalesce(i.status = 'pending' and i.expires_at > ${now}::timestamptz and i.email = d.email, false)`;

/** SQL: whether the invitation is for another address than the present one, or the person is a member by now. */
export const IS_INVITATION_STALE = condition`coalesce(i.status = 'pending' and (i.email <> d.email or m.user_id is not null), false)`;

/** SQL: whether admins of the client may change the account: `accountUpdateRefusal`. A directory may not do more. */
export const IS_ACCOUNT_OF_CLIENT = condition`(not (u.was_shared or u.is_superuser or u.is_staff or m.is_admin))`;

const HAS_OTHER_NAME = condition`(${IS_ACCOUNT_OF_CLIENT} and (d.first_name <> '' or d.last_name <> '')
  and (u.first_name, u.last_name) is distinct from (d.first_name, d.last_name))`;

/** SQL: whether a member of the directory is missing in a group of it. */
const LACKS_GROUP = condition`exists (select from directory_members dm join directory_groups g on g.id = dm.group_id
  where dm.person_id = d.id and g.group_id is not null and not g.is_removed and not exists (
    select from group_members gm where gm.group_id = g.group_id and gm.user_id = d.user_id))`;

const HAS_OTHER_EXTRA = condition`exists (select from json_each(d.extra) as given
  where (m.extra -> given.key)::text is distinct from given.value::text)`;

/** SQL: a `PersonChange`, or null if nothing is to change. */
export const personChange = (now: Date): RawBuilder<PersonChange | null> => sql<PersonChange | null>`
  case
    when d.is_removed then case
      when d.user_id is not null then 'remove'
      when ${isInvited(now)} then 'revoke'
      else 'forget' end
    when m.user_id is null then case
      when not d.is_active then case when ${isInvited(now)} then 'revoke' end
      when ${IS_OF_CLIENT} then 'join'
      when not ${isInvited(now)} then 'invite' end
    when d.is_active and not m.is_active_member then 'reactivate'
    when not d.is_active and m.is_active_member then 'suspend'
    when d.user_id is null then 'adopt'
    when ${HAS_OTHER_NAME} or ${HAS_OTHER_EXTRA} or ${LACKS_GROUP} then 'update'
  end`;

/** What would make a group as the directory states it. `adopt`: a group of the client has this name. */
export const GROUP_CHANGES = ['create', 'adopt', 'update', 'remove', 'forget'] as const;
export type GroupChange = (typeof GROUP_CHANGES)[number];

/** Within this time, ends of memberships are counted, and approvals are valid. */
export const dayBefore = (now: Date): Date => new Date(now.getTime() - DAY_MS);

/** SQL: the tables of `GROUP_CHANGE`: the row `g`, and the group `own` that it is or would become. */
export const GROUP_TABLES = sql`directory_groups g
  left join groups own on own.id = coalesce(g.group_id, (
    select min(named.id) from groups named where named.client_id = g.client_id and lower(named.name) = lower(g.display_name)
      and not exists (select from directory_groups other where other.group_id = named.id)))`;

/** SQL: the people of the directory who should be in a group, and who are, by id of the account. */
export const SHOULD_BE_IN = sql`select d.user_id from directory_members dm join directory_people d on d.id = dm.person_id
  where dm.group_id = g.id and d.user_id is not null and not d.is_removed`;
export const ARE_IN = sql`select gm.user_id from group_members gm
  join directory_people d on d.client_id = g.client_id and d.user_id = gm.user_id where gm.group_id = own.id`;

/** SQL: a `GroupChange` of the group itself, for any members; null if there is none. */
export const GROUP_STEP = sql<GroupChange | null>`
  case
    when g.is_removed then case when g.group_id is not null then 'remove' else 'forget' end
    when own.id is null then 'create'
    when g.group_id is null then 'adopt'
    when own.name <> g.display_name then 'update'
  end`;

/** SQL: a `GroupChange`, or null if nothing is to change. */
export const GROUP_CHANGE = sql<GroupChange | null>`coalesce(${GROUP_STEP}, case
  when exists ((${SHOULD_BE_IN}) except (${ARE_IN})) or exists ((${ARE_IN}) except (${SHOULD_BE_IN})) then 'update' end)`;
