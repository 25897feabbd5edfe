import { LockMode } from '@mikro-orm/postgresql';
import { expressionBuilder, type InferResult, type RawBuilder, sql } from 'kysely';
import { Client } from '../../../entities/client.ts';
import { Group } from '../../../entities/group.ts';
import type { Database } from '../../../entities/index.ts';
import {
  arrayOf,
  condition,
  countIn,
  type Em,
  hasWords,
  isAnyOf,
  kysely,
  pickDefined,
} from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import { type FieldErrors, invalid, notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { clientVisibleTo, isPerson, isWithinRights } from '../access/visibility.ts';
import { namesOf } from '../attributes/effective-values.ts';
import { requireAppRoles, requireValidValues } from '../attributes/stated-values.ts';
import {
  type ActionOn,
  type Changes,
  type DetailsOf,
  diffColumns,
  isEmpty,
  ofGroup,
} from '../audit/audit.ts';
import { requireExpected } from '../audit/edits.ts';
import { readClient, readManagedClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { closeObsoleteRequests } from './request-closing.ts';

type GroupInput = { name: string; members: string[]; apps: string[] } & GivenByGroup;
/** `rank`: of several groups of a person, the value of the lowest counts. `app_roles`: by app id, the roles of the members there. */
type GivenByGroup = {
  attributes?: Record<string, unknown> | null | undefined;
  rank?: number | undefined;
  app_roles?: Record<string, string[]> | undefined;
};
type LockedGroup = { id: number; client: { id: number } };
type GroupChanges = { [K in keyof GroupInput]?: GroupInput[K] | undefined } & {
  /** Adds to the members, instead of replacing them as `members` does. */
  added_members?: string[] | undefined;
  removed_members?: string[] | undefined;
  /** The values that the caller has read: the change fails if the group differs by now. */
  expected?: { name?: string | undefined; apps?: string[] | undefined } | undefined;
};

/** Teams of a client. Members of a group have its apps. */
export const createGroups = ({ em, clock, audit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => {
  const record = (
    tx: Em,
    action: ActionOn<'group'>,
    actor: Actor,
    group: GroupRow,
    details: DetailsOf<typeof action>,
  ) => audit.record(tx, [{ action, actor, target: ofGroup(group), clients: [group.client], details }]);

  /** Locks the group, so that the second of two changes starts from the outcome of the first. */
  const lockGroup = async (tx: Em, actor: Actor, clientId: number, id: number) => {
    await readManagedClient(tx, actor, clientId, 'manage-people');
    const group = await tx.findOne(Group, { id, client: clientId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!group) throw notFound('group');
    return group;
  };

  /** Returns the ids that were added and removed. */
  const changeContents = async (
    tx: Em,
    actor: Actor,
    group: LockedGroup,
    { members, apps, added_members: addedMembers, removed_members: removedMembers = [] }: GroupChanges,
    found: Contents,
  ) => {
    const terms = { groupId: group.id, by: actor.id, now: clock.now() };
    const ids = found.users.map((user) => user.id);
    const changesMembers = (members ?? addedMembers) !== undefined;
    const isRemoved = members ? isNoneOf('user_id', ids, 'int') : isUserOf(removedMembers);
    const isOther = isNoneOf('app_id', found.apps, 'varchar');
    const contents = {
      ...(changesMembers && { members: await setParts(tx, 'members', terms, ids, isRemoved) }),
      ...(apps && { apps: await setParts(tx, 'apps', terms, found.apps, isOther) }),
    };
    const { added = [], removed = [] } = contents.members ?? {};
    const { apps: changed = { added: [], removed: [] } } = contents;
    const concerned =
      changed.added.length + changed.removed.length > 0 ? await readMemberIds(tx, group.id) : [];
    await requireMayChange(tx, actor, group.client.id, [...added, ...removed, ...concerned]);
    // Without audit entries for the requests: the group has one.
    await closeObsoleteRequests(tx, requestsOfMembers(group.id), actor.id, terms.now);
    return contents;
  };

  return {
    /** @throws Problem `not-found` for a client that the actor may not see */
    list: async (actor: Actor, clientId: number, page: CursorPageRequest): Promise<GroupRow[]> => {
      await readClient(em, actor, clientId);
      const groups = groupRows(em).where('groups.client_id', '=', clientId);
      return readPage(afterCursor(groups, 'groups.id', page.cursor), 'groups.id', page);
    },

    /** The groups of all clients that the actor sees whose name has these words, by name. */
    search: (actor: Actor, words: string, limit: number) =>
      kysely(em)
        .selectFrom('groups')
        .innerJoin('clients', 'clients.id', 'groups.client_id')
        .select(['groups.id', 'groups.client_id as client', 'groups.name', 'clients.name as client_name'])
        .where(clientVisibleTo(actor, sql`groups.client_id`))
        .where(hasWords(sql`lower(groups.name)`, words))
        .orderBy('groups.name')
        .orderBy('groups.id')
        .limit(limit)
        .execute(),

    /** @throws Problem `not-found` */
    get: async (actor: Actor, clientId: number, id: number): Promise<GroupDetail> => {
      await readClient(em, actor, clientId);
      return readGroup(em, clientId, id);
    },

    /** @throws Problem `not-found`, `forbidden`, `invalid-input` on `name`, `members`, `apps` */
    create: (actor: Actor, clientId: number, input: GroupInput): Promise<GroupDetail> =>
      em.transactional(async (tx) => {
        await readManagedClient(tx, actor, clientId, 'manage-people');
        await requireFreeName(tx, clientId, input.name);
        // Members before the client, which the new row locks: the same order as in a removal of the client.
        const found = await findContents(tx, clientId, input);
        const client = tx.getReference(Client, clientId);
        const group = tx.create(Group, { client, name: input.name, createdAt: clock.now() });
        await tx.flush();
        const contents = await changeContents(tx, actor, group, input, found);
        const details = { ...contents, ...(await changeGiven(tx, actor, group, input)) };
        const created = await readGroup(tx, clientId, group.id);
        await record(tx, 'group.create', actor, created, details);
        return created;
      }),

    /** @throws Problem `not-found`, `forbidden`, `precondition-failed`, `invalid-input` on `name`, `members`, `apps` */
    update: (actor: Actor, clientId: number, id: number, changes: GroupChanges): Promise<GroupDetail> =>
      em.transactional(async (tx) => {
        const group = await lockGroup(tx, actor, clientId, id);
        requireExpected<Pick<GroupRow, 'name' | 'apps'>>(await readGroup(tx, clientId, id), changes.expected);
        const from = group.name;
        if (changes.name !== undefined && changes.name !== from)
          await requireFreeName(tx, clientId, changes.name, id);
        group.name = changes.name ?? from;
        await tx.flush();
        const found = await findContents(tx, clientId, changes);
        const contents = await changeContents(tx, actor, group, changes, found);
        const after = await readGroup(tx, clientId, id);
        const isChanged = Object.values(contents).some(
          ({ added, removed }) => added.length + removed.length > 0,
        );
        const columns = {
          ...(after.name !== from && { name: { from, to: after.name } }),
          ...(await changeGiven(tx, actor, group, changes)),
        };
        if (isChanged || !isEmpty(columns))
          await record(tx, 'group.update', actor, after, { ...columns, ...contents });
        return readGroup(tx, clientId, id);
      }),

    /** Removes a group. Its members lose the apps that only this group gives them. @throws Problem `not-found`, `forbidden` */
    remove: (actor: Actor, clientId: number, id: number): Promise<void> =>
      em.transactional(async (tx) => {
        const group = await lockGroup(tx, actor, clientId, id);
        const row = await readGroup(tx, clientId, id);
        const memberIds = await readMemberIds(tx, id);
        await requireMayChange(tx, actor, clientId, memberIds);
        await tx.remove(group).flush();
        const details = { members: { removed: memberIds }, apps: { removed: row.apps } };
        await record(tx, 'group.remove', actor, row, details);
      }),
  };
};

/**
 * Changes the data permissions and the roles in apps that a group gives. Returns the changes: of data permissions the names alone.
 * @throws Problem `forbidden`, `invalid-input` on `attributes`, `app_roles`
 */
const changeGiven = async (
  tx: Em,
  actor: Actor,
  group: LockedGroup,
  given: GivenByGroup,
): Promise<Changes> => {
  const clientId = group.client.id;
  const before = await readGroup(tx, clientId, group.id);
  const { attributes, rank, app_roles: roles } = { ...before, ...pickDefined(given) };
  const changes: Changes = diffColumns({ rank: before.rank }, { rank }, ['rank']);
  if (canonicalJson(before.attributes) !== canonicalJson(attributes))
    changes.attributes = { from: namesOf(before.attributes), to: namesOf(attributes) };
  if (canonicalJson(before.app_roles) !== canonicalJson(roles))
    changes.app_roles = { from: before.app_roles, to: roles };
  if (isEmpty(changes)) return changes;
  await requireMayChange(tx, actor, clientId, await readMemberIds(tx, group.id));
  await requireValidValues(tx, { clientId, appId: null }, attributes);
  await kysely(tx)
    .updateTable('groups')
    .set({ rank, attributes: sql`${attributes && JSON.stringify(attributes)}::json` })
    .where('id', '=', group.id)
    .execute();
  if (changes.app_roles) await setAppRoles(tx, before, roles);
  return changes;
};

/** @throws Problem `invalid-input` on `app_roles` */
const setAppRoles = async (tx: Em, { id, apps }: GroupRow, roles: Record<string, string[]>) => {
  const foreign = Object.keys(roles).filter((app) => !apps.includes(app));
  if (foreign.length > 0)
    throw invalid({ app_roles: foreign.map((app) => `The group does not have the app ${app}.`) });
  for (const [app, keys] of Object.entries(roles)) await requireAppRoles(tx, app, keys);
  await sql`
    update group_apps set app_roles = coalesce(
      array(select json_array_elements_text(${JSON.stringify(roles)}::json -> app_id)), '{}')
    where group_id = ${id}`.execute(kysely(tx));
};

/**
 * Refuses changes of people who may do more than the actor, and of actors who would give themselves apps.
 * @throws Problem `forbidden`
 */
const requireMayChange = async (tx: Em, actor: Actor, clientId: number, ids: readonly number[]) => {
  const isOwn = condition`m.user_id = ${actor.id} and not ${can(actor, 'open-apps', clientId)}::boolean`;
  const refused = await kysely(tx)
    .selectFrom('memberships as m')
    .select('m.user_id')
    .where('m.client_id', '=', clientId)
    .where(isAnyOf('m.user_id', ids, 'int'))
    .where(condition`(${isOwn} or not ${isWithinRights(actor, 'm')})`)
    .limit(1)
    .executeTakeFirst();
  if (refused) throw new Problem('forbidden', { detail: MAY_NOT_CHANGE });
};

const MAY_NOT_CHANGE = 'You may not change your own groups, or those of people who may do more than you.';

/** @throws Problem `invalid-input` on `name` */
const requireFreeName = async (tx: Em, clientId: number, name: string, ownId = 0): Promise<void> => {
  const taken = await kysely(tx)
    .selectFrom('groups')
    .select('id')
    .where('client_id', '=', clientId)
    .where(condition`lower(name) = lower(${name})`)
    .where('id', '<>', ownId)
    .limit(1)
    .executeTakeFirst();
  if (taken) throw invalid({ name: ['Another group of this client has this name.'] });
};

/** The ids of the apps that a row of `groups` gives, by age. */
export const APPS_OF_GROUP = arrayOf(
  expressionBuilder<Database, 'groups'>()
    .selectFrom('group_apps as ga')
    .innerJoin('apps as a', 'a.id', 'ga.app_id')
    .select('a.id')
    .whereRef('ga.group_id', '=', 'groups.id')
    .orderBy('a.created_at')
    .orderBy('a.id'),
);

const MEMBERS_OF_GROUP = arrayOf(
  expressionBuilder<Database, 'groups'>()
    .selectFrom('group_members as gm')
    .innerJoin('users', 'users.id', 'gm.user_id')
    .select('users.email')
    .whereRef('gm.group_id', '=', 'groups.id')
    .orderBy('users.email'),
);

/** By app id, the roles that the group gives there. */
const APP_ROLES = sql<Record<string, string[]>>`(
  select coalesce(json_object_agg(ga.app_id, ga.app_roles order by ga.app_id), '{}') from group_apps ga
  where ga.group_id = groups.id and ga.app_roles <> '{}')`;

const groupRows = (em: Em) =>
  kysely(em)
    .selectFrom('groups')
    .select(['groups.id', 'groups.client_id as client', 'groups.name', 'groups.created_at'])
    .select(['groups.attributes', 'groups.rank', APP_ROLES.as('app_roles')])
    .select(countIn('group_members', condition`group_id = groups.id`).as('member_count'))
    .select(APPS_OF_GROUP.as('apps'))
    .orderBy('groups.id');

type GroupRow = InferResult<ReturnType<typeof groupRows>>[number];
type GroupDetail = GroupRow & { members: string[] };

/** @throws Problem `not-found` */
export const readGroup = (em: Em, clientId: number, id: number): Promise<GroupDetail> =>
  groupRows(em)
    .select(MEMBERS_OF_GROUP.as('members'))
    .where('groups.id', '=', id)
    .where('groups.client_id', '=', clientId)
    .executeTakeFirstOrThrow(() => notFound('group'));

const readMemberIds = async (em: Em, groupId: number): Promise<number[]> => {
  const members = kysely(em).selectFrom('group_members').select('user_id').where('group_id', '=', groupId);
  return (await members.orderBy('user_id').execute()).map(({ user_id }) => user_id);
};

/** @throws Problem `invalid-input` on `members` and `apps`, with an error for each that does not belong to the client */
const findContents = async (
  tx: Em,
  clientId: number,
  { members: all, added_members: added = [], apps: appIds = [] }: GroupChanges,
) => {
  const members = all ?? added;
  const isMember = condition`exists (select from memberships m where m.user_id = users.id and m.client_id = ${clientId})`;
  // Keeps memberships unchanged until the transaction ends, because changes of a membership lock the user first. Only members are locked:
  // waiting for others would reveal that an address has an account.
  const locked = await kysely(tx)
    .selectFrom('users')
    .select('id')
    .where(isAnyOf('email', members, 'varchar'))
    .where(isMember)
    .orderBy('id')
    .forKeyShare()
    .execute();
  const users = await kysely(tx)
    .selectFrom('users')
    .select(['users.id', 'users.email'])
    .where(
      isAnyOf(
        'users.id',
        locked.map(({ id }) => id),
        'int',
      ),
    )
    .where(isMember)
    .where(isPerson)
    .orderBy('users.id')
    .execute();
  const apps = await kysely(tx)
    .selectFrom('apps')
    .select('id')
    .where('client_id', '=', clientId)
    .where(isAnyOf('id', appIds, 'varchar'))
    .orderBy('id')
    // A request for one of these apps waits, or is seen and closed.
    .forNoKeyUpdate()
    .execute();
  const [emails, ids] = [new Set(users.map(({ email }) => email)), new Set(apps.map(({ id }) => id))];
  const fields: FieldErrors = {};
  const strangers = members.filter((email) => !emails.has(email));
  if (strangers.length > 0)
    fields.members = strangers.map((email) => `${email} is not a member of this client.`);
  const unknown = appIds.filter((id) => !ids.has(id));
  if (unknown.length > 0) fields.apps = unknown.map((id) => `No app of this client has the id ${id}.`);
  if (Object.keys(fields).length > 0) throw invalid(fields);
  return { users, apps: apps.map(({ id }) => id) };
};

const requestsOfMembers = (groupId: number) =>
  condition`(r.user_id in (select user_id from group_members where group_id = ${groupId})
    and r.app_id in (select app_id from group_apps where group_id = ${groupId}))`;

type Contents = Awaited<ReturnType<typeof findContents>>;

const isNoneOf = (column: string, ids: readonly (number | string)[], type: 'int' | 'varchar') =>
  condition`${sql.ref(column)} <> all(${[...ids]}::${sql.raw(type)}[])`;

const isUserOf = (emails: string[]) =>
  condition`user_id in (select id from users where email = any(${emails}::varchar[]))`;

/** The tables that store the members and the apps of a group. */
const PARTS = {
  members: {
    table: sql.table('group_members'),
    column: sql.ref('user_id'),
    type: sql.raw('int'),
  },
  apps: {
    table: sql.table('group_apps'),
    column: sql.ref('app_id'),
    type: sql.raw('varchar'),
  },
};

type GroupChange = { groupId: number; by: number; now: Date };

/** @param isRemoved the condition on the rows to delete, none of which is among the added ones */
const setParts = async <Id extends number | string>(
  tx: Em,
  part: keyof typeof PARTS,
  { groupId, by, now }: GroupChange,
  ids: readonly Id[],
  isRemoved: RawBuilder<boolean>,
) => {
  const { table, column, type } = PARTS[part];
  const { rows } = await sql<{ id: Id; is_added: boolean }>`
    with removed as (
      delete from ${table} where group_id = ${groupId} and ${isRemoved} returning ${column} as id
    ),
    added as (
      insert into ${table} (group_id, ${column}, added_by, added_at)
      select ${groupId}::int, unnest(${[...ids]}::${type}[]), ${by}::int, ${now}::timestamptz
      on conflict do nothing returning ${column} as id
    )
    select id, true as is_added from added union all select id, false from removed order by id`.execute(
    kysely(tx),
  );
  const idsOf = (isAdded: boolean) => rows.flatMap((row) => (row.is_added === isAdded ? row.id : []));
  return { added: idsOf(true), removed: idsOf(false) };
};
