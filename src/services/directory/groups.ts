import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { GROUP_TYPE, isObject, type Resource, readResource } from '../../lib/scim/attributes.ts';
import {
  type MemberStep,
  patchResource,
  readMembers,
  readOperations,
  splitMembers,
} from '../../lib/scim/patch.ts';
import { ScimProblem } from '../../lib/scim/scim-problem.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { applyGroup } from './apply-group.ts';
import { type ActingDirectory, changeAs, shareSettings } from './directory-rows.ts';
import type { Columns } from './filter-sql.ts';
import { keyOf, requireStorable } from './person-facts.ts';
import {
  type ListQuery,
  type ListResult,
  lockStored,
  markRemoved,
  type Owned,
  type Precondition,
  readListed,
  requireOwn,
  rethrowAsNotUnique,
  type StoredResource,
} from './stored.ts';

/** `members`: null if they were not asked for. */
export type StoredGroup = StoredResource & { members: { value: string; display: string }[] | null };

const MAX_NAME = 100;

/** `isWhole`: the members are replaced. */
type Edit = { resource: Resource; steps: MemberStep[]; isWhole: boolean };

/** The groups of SCIM: those that the directory of a client states. They become groups of the client. */
export const createDirectoryGroups = (unit: UnitOfWork) => {
  const { em, clock } = unit;

  const apply = (tx: Em, directory: ActingDirectory, id: string, people?: readonly string[]) =>
    applyGroup({ ...unit, em: tx }, directory, id, people);

  const change = (
    directory: ActingDirectory,
    id: string,
    precondition: Precondition,
    withMembers: boolean,
    edit: (resource: Resource) => Edit,
  ): Promise<StoredGroup> =>
    changeAs(em, directory, async (tx) => {
      const { mode } = await shareSettings(tx, directory.client);
      const before = await lockStored(tx, 'directory_groups', directory, id, precondition);
      const { resource, steps } = edit(before);
      const facts = groupFacts(resource);
      const people = await changeMembers(tx, directory, id, steps);
      const isChanged = JSON.stringify(facts.resource) !== JSON.stringify(before);
      if (isChanged || people.length > 0)
        await kysely(tx)
          .updateTable('directory_groups')
          .set({ ...columnsOf(facts), version: sql<number>`version + 1`, modified_at: clock.now() })
          .set({ stated_by: directory.actor.id })
          .where('id', '=', id)
          .execute();
      if (mode === 'apply') await apply(tx, directory, id, people);
      return readGroup(tx, directory.client, id, withMembers);
    }).catch(rethrowAsNotUnique);

  return {
    list: ({ client }: ActingDirectory, query: ListQuery): Promise<ListResult<StoredGroup>> =>
      readListed(em, query, COLUMNS, {
        alias: 'g',
        table: sql`directory_groups g`,
        isListed: sql`g.client_id = ${client} and not g.is_removed`,
        columns: sql`${STORED}, ${query.withRelated ? MEMBERS : NO_MEMBERS}`,
      }),

    /** @throws Problem `not-found` */
    get: ({ client }: ActingDirectory, id: string, withMembers: boolean): Promise<StoredGroup> =>
      readGroup(em, client, id, withMembers),

    /** @throws ScimProblem `invalidValue`, `uniqueness` */
    create: (directory: ActingDirectory, body: unknown): Promise<StoredGroup> =>
      changeAs(em, directory, async (tx) => {
        const { client, actor } = directory;
        const { mode } = await shareSettings(tx, client);
        const { resource, members } = readGroupBody(body);
        const facts = groupFacts(resource);
        const known = await takeRemoved(tx, client, facts.display_name);
        const id = randomUUID();
        const now = clock.now();
        const made = { client_id: client, stated_by: actor.id, created_at: now, modified_at: now };
        await kysely(tx)
          .insertInto('directory_groups')
          .values({ id, ...columnsOf(facts), ...made, ...known })
          .execute();
        await changeMembers(tx, directory, id, [{ kind: 'add', ids: members }]);
        if (mode === 'apply') await apply(tx, directory, id);
        return readGroup(tx, client, id, true);
      }).catch(rethrowAsNotUnique),

    /** @throws Problem `not-found`, `precondition-failed`, ScimProblem `invalidValue`, `uniqueness` */
    replace: (
      directory: ActingDirectory,
      id: string,
      body: unknown,
      precondition: Precondition,
      withMembers: boolean,
    ): Promise<StoredGroup> =>
      change(directory, id, precondition, withMembers, () => {
        const { resource, members } = readGroupBody(body);
        return { resource, steps: [{ kind: 'set', ids: members }], isWhole: true };
      }),

    /** @throws the problems of `replace`, ScimProblem `invalidPath`, `mutability`, `noTarget` */
    patch: (
      directory: ActingDirectory,
      id: string,
      body: unknown,
      precondition: Precondition,
      withMembers: boolean,
    ): Promise<StoredGroup> =>
      change(directory, id, precondition, withMembers, (resource) => {
        const { steps, others } = splitMembers(readOperations(GROUP_TYPE, body));
        return { resource: patchResource(GROUP_TYPE, resource, others), steps, isWhole: false };
      }),

    /** @throws Problem `not-found`, `precondition-failed` */
    remove: (directory: ActingDirectory, id: string, precondition: Precondition): Promise<void> =>
      changeAs(em, directory, async (tx) => {
        const { mode } = await shareSettings(tx, directory.client);
        await lockStored(tx, 'directory_groups', directory, id, precondition);
        await markRemoved(tx, 'directory_groups', directory, id, clock.now());
        if (mode === 'apply') await apply(tx, directory, id);
      }),
  };
};

/** The members are stored as rows, not in the document. */
const readGroupBody = (body: unknown) => {
  if (!isObject(body)) throw new ScimProblem('invalidSyntax', 'The resource must be an object.');
  const name = Object.keys(body).find((key) => key.toLowerCase() === 'members');
  const { [name ?? 'members']: members, ...others } = body;
  return { resource: readResource(GROUP_TYPE, others), members: readMembers(members) };
};

/** @throws ScimProblem `invalidValue` */
const groupFacts = (resource: Resource) => {
  requireStorable(resource);
  const name = keyOf(resource.displayName, 'displayName', MAX_NAME);
  if (name === null) throw new ScimProblem('invalidValue', 'displayName is required.');
  return { display_name: name, external_id: keyOf(resource.externalId, 'externalId'), resource };
};

const columnsOf = ({ resource, ...columns }: ReturnType<typeof groupFacts>) => ({
  ...columns,
  resource: sql<Resource>`${JSON.stringify(resource)}::json`,
});

/** Returns the ids of the people who were added and removed. @throws ScimProblem `invalidValue` */
const changeMembers = async (
  tx: Em,
  directory: ActingDirectory,
  id: string,
  steps: readonly MemberStep[],
): Promise<string[]> => {
  const changed = new Set<string>();
  for (const step of steps) for (const person of await takeStep(tx, directory, id, step)) changed.add(person);
  return [...changed];
};

const takeStep = async (
  tx: Em,
  directory: ActingDirectory,
  id: string,
  { kind, ids }: MemberStep,
): Promise<string[]> => {
  const isNamed = isAnyOf('person_id', ids, 'varchar');
  const members = kysely(tx).deleteFrom('directory_members').where('group_id', '=', id);
  const rows =
    kind === 'add'
      ? []
      : await members
          .where(kind === 'remove' ? isNamed : sql<boolean>`not ${isNamed}`)
          .returning('person_id')
          .execute();
  const removed = rows.map(({ person_id }) => person_id);
  if (kind === 'remove' || ids.length === 0) return removed;
  await requirePeople(tx, directory, ids);
  const { rows: added } = await sql<{ person_id: string }>`
    insert into directory_members (group_id, person_id) select ${id}::varchar, unnest(${[...ids]}::varchar[])
    on conflict do nothing returning person_id`.execute(kysely(tx));
  return [...removed, ...added.map(({ person_id }) => person_id)];
};

/** Keeps the people until the transaction ends. @throws ScimProblem `invalidValue` */
const requirePeople = async (tx: Em, { client }: ActingDirectory, ids: readonly string[]): Promise<void> => {
  const people = await kysely(tx)
    .selectFrom('directory_people')
    .select(['id', 'client_id', 'is_removed'])
    .where(isAnyOf('id', ids, 'varchar'))
    .orderBy('id')
    .forKeyShare()
    .execute();
  const own = people.filter((person) => person.client_id === client && !person.is_removed);
  const known = new Set(own.map((person) => person.id));
  const unknown = ids.find((each) => !known.has(each));
  if (unknown !== undefined)
    throw new ScimProblem('invalidValue', `members: this directory has no user ${unknown.slice(0, 100)}.`);
};

/** A group whose removal was only shown is still the group that it was. */
const takeRemoved = async (tx: Em, client: number, name: string) => {
  const removed = await kysely(tx)
    .deleteFrom('directory_groups')
    .where('client_id', '=', client)
    .where(sql<boolean>`lower(display_name) = lower(${name})`)
    .where(sql<boolean>`is_removed`)
    .returning(['group_id', 'is_adopted'])
    .execute();
  return removed[0] ?? {};
};

const STORED = sql`g.id, g.client_id, g.is_removed, g.resource, g.version, g.created_at, g.modified_at`;

const MEMBER_ROWS = sql`directory_members dm join directory_people d on d.id = dm.person_id
  where dm.group_id = g.id and not d.is_removed`;

const MEMBERS = sql`(
  select coalesce(json_agg(json_build_object('value', d.id, 'display', d.user_name) order by d.id), '[]')
  from ${MEMBER_ROWS}) as members`;

const NO_MEMBERS = sql`null::json as members`;

const readGroup = async (em: Em, client: number, id: string, withMembers: boolean): Promise<StoredGroup> => {
  const { rows } = await sql<StoredGroup & Owned>`select ${STORED}, ${withMembers ? MEMBERS : NO_MEMBERS}
    from directory_groups g where g.id = ${id}`.execute(kysely(em));
  return requireOwn(rows[0], client);
};

const COLUMNS: Columns = {
  type: GROUP_TYPE,
  document: sql`g.resource`,
  columns: {
    id: sql`g.id`,
    externalid: sql`g.external_id`,
    displayname: sql`g.display_name`,
    'meta.resourcetype': sql`'Group'`,
    'meta.created': sql`g.created_at`,
    'meta.lastmodified': sql`g.modified_at`,
  },
  related: { members: sql`select dm.person_id from ${MEMBER_ROWS}` },
};
