import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { type Resource, readResource, USER_TYPE } from '../../lib/scim/attributes.ts';
import { patchResource, readOperations } from '../../lib/scim/patch.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { applyPerson } from './apply-person.ts';
import { type ActingDirectory, changeAs, shareSettings } from './directory-rows.ts';
import type { Columns } from './filter-sql.ts';
import { HeldEnding, holdEnding } from './holds.ts';
import { type PersonFacts, personFacts } from './person-facts.ts';
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

export type StoredPerson = StoredResource & { groups: { value: string; display: string }[] };

/**
 * The users of SCIM: the people whom the directory of a client states. A change is stored, and where the directory applies its changes, the
 * membership follows in the same transaction.
 */
export const createDirectoryPeople = (unit: UnitOfWork) => {
  const { em, clock, audit } = unit;

  /** Runs a change, and remembers if the end of a membership was held. */
  const run = async <T>(directory: ActingDirectory, work: (tx: Em) => Promise<T>): Promise<T> => {
    try {
      return await changeAs(em, directory, work).catch(rethrowAsNotUnique);
    } catch (error) {
      if (error instanceof HeldEnding)
        await em.transactional((tx) => holdEnding({ tx, now: clock.now(), audit }, error));
      throw error;
    }
  };

  const apply = (tx: Em, directory: Parameters<typeof applyPerson>[1], id: string) =>
    applyPerson({ ...unit, em: tx }, directory, id);

  /** Changes the resource, if it differs. */
  const change = (
    directory: ActingDirectory,
    id: string,
    precondition: Precondition,
    edit: (resource: Resource) => Resource,
  ): Promise<StoredPerson> =>
    run(directory, async (tx) => {
      const { mode, attributes } = await shareSettings(tx, directory.client);
      const before = await lockStored(tx, 'directory_people', directory, id, precondition);
      const facts = personFacts(edit(before), attributes);
      const isChanged = JSON.stringify(facts.resource) !== JSON.stringify(before);
      if (isChanged) await update(tx, directory, id, facts, clock.now());
      if (mode === 'apply') await apply(tx, directory, id);
      return readPerson(tx, directory.client, id);
    });

  return {
    list: ({ client }: ActingDirectory, query: ListQuery): Promise<ListResult<StoredPerson>> =>
      readListed(em, query, COLUMNS, {
        alias: 'd',
        table: sql`directory_people d`,
        isListed: sql`d.client_id = ${client} and not d.is_removed`,
        columns: sql`${STORED}, ${query.withRelated ? GROUPS : sql`'[]'::json as groups`}`,
      }),

    /** @throws Problem `not-found` */
    get: ({ client }: ActingDirectory, id: string): Promise<StoredPerson> => readPerson(em, client, id),

    /** @throws ScimProblem `invalidValue`, `uniqueness` */
    create: (directory: ActingDirectory, body: unknown): Promise<StoredPerson> => {
      const id = randomUUID();
      return run(directory, async (tx) => {
        const { client, actor } = directory;
        const { mode, attributes } = await shareSettings(tx, client);
        const facts = personFacts(readResource(USER_TYPE, body), attributes);
        const now = clock.now();
        const known = await takeRemoved(tx, client, facts);
        const made = { client_id: client, stated_by: actor.id, created_at: now, modified_at: now };
        await kysely(tx)
          .insertInto('directory_people')
          .values({ id, ...columnsOf(facts), ...made, ...known })
          .execute();
        if (mode === 'apply') await apply(tx, { ...directory, isNew: true }, id);
        const { resource } = facts;
        return { id, resource, version: 1, created_at: now, modified_at: now, groups: [] };
      });
    },

    /** @throws Problem `not-found`, `precondition-failed`, `held-for-approval`, ScimProblem `invalidValue`, `uniqueness` */
    replace: (directory: ActingDirectory, id: string, body: unknown, precondition: Precondition) =>
      change(directory, id, precondition, () => readResource(USER_TYPE, body)),

    /** @throws the problems of `replace`, ScimProblem `invalidPath`, `mutability`, `noTarget` */
    patch: (directory: ActingDirectory, id: string, body: unknown, precondition: Precondition) =>
      change(directory, id, precondition, (resource) =>
        patchResource(USER_TYPE, resource, readOperations(USER_TYPE, body)),
      ),

    /** @throws Problem `not-found`, `precondition-failed`, `held-for-approval` */
    remove: (directory: ActingDirectory, id: string, precondition: Precondition): Promise<void> =>
      run(directory, async (tx) => {
        const { mode } = await shareSettings(tx, directory.client);
        await lockStored(tx, 'directory_people', directory, id, precondition);
        await markRemoved(tx, 'directory_people', directory, id, clock.now());
        if (mode === 'apply') await apply(tx, directory, id);
      }),
  };
};

const columnsOf = ({ extra, resource, ...columns }: PersonFacts) => ({
  ...columns,
  extra: sql<Record<string, unknown>>`${JSON.stringify(extra)}::json`,
  resource: sql<Resource>`${JSON.stringify(resource)}::json`,
});

const update = (tx: Em, { actor }: ActingDirectory, id: string, facts: PersonFacts, now: Date) =>
  kysely(tx)
    .updateTable('directory_people')
    .set({
      ...columnsOf(facts),
      version: sql<number>`version + 1`,
      modified_at: now,
      stated_by: actor.id,
    })
    .where('id', '=', id)
    .execute();

/** A person whose removal was only shown is still the member that they were. */
const takeRemoved = async (tx: Em, client: number, { email }: PersonFacts) => {
  const removed = await kysely(tx)
    .deleteFrom('directory_people')
    .where('client_id', '=', client)
    .where('email', '=', email)
    .where(condition`is_removed`)
    .returning(['user_id', 'invitation_id'])
    .execute();
  return removed[0] ?? {};
};

const STORED = sql`d.id, d.client_id, d.is_removed, d.resource, d.version, d.created_at, d.modified_at`;

const GROUPS = sql`(
  select coalesce(json_agg(json_build_object('value', g.id, 'display', g.display_name) order by g.display_name), '[]')
  from directory_members dm join directory_groups g on g.id = dm.group_id
  where dm.person_id = d.id and not g.is_removed) as groups`;

const readPerson = async (em: Em, client: number, id: string): Promise<StoredPerson> => {
  const { rows } = await sql<StoredPerson & Owned>`select ${STORED}, ${GROUPS} from directory_people d
    where d.id = ${id}`.execute(kysely(em));
  return requireOwn(rows[0], client);
};

const COLUMNS: Columns = {
  type: USER_TYPE,
  document: sql`d.resource`,
  columns: {
    id: sql`d.id`,
    externalid: sql`d.external_id`,
    username: sql`d.user_name`,
    active: sql`d.is_active`,
    'meta.resourcetype': sql`'User'`,
    'meta.created': sql`d.created_at`,
    'meta.lastmodified': sql`d.modified_at`,
  },
  indexed: (attribute, value) =>
    attribute === 'emails' ? condition`d.addresses @> array[lower(${value}::text)]` : null,
  related: {
    groups: sql`select dm.group_id from directory_members dm join directory_groups g on g.id = dm.group_id
      where dm.person_id = d.id and not g.is_removed`,
  },
};
