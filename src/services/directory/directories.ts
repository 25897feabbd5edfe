import { type InferResult, type SelectQueryBuilder, sql } from 'kysely';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, type PageRequest, readPage } from '../../db/pagination.ts';
import { isServiceAddress } from '../../lib/email-address.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import { invalid, notFound, Problem, scopeRequired } from '../../lib/problems.ts';
import { findAttribute, type Resource, USER_TYPE } from '../../lib/scim/attributes.ts';
import { DIRECTORY_SCOPE } from '../access/action-scopes.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import { isAllowedIn } from '../access/visibility.ts';
import { type Changes, diffColumns, isEmpty, ofClient } from '../audit/audit.ts';
import { readManagedClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { applyGroup } from './apply-group.ts';
import { applyPerson } from './apply-person.ts';
import {
  type ActingDirectory,
  ARE_IN,
  actingFor,
  type DirectorySettings,
  GROUP_CHANGE,
  GROUP_TABLES,
  type GroupChange,
  isApproved,
  isHeld,
  lockSettings,
  PERSON_TABLES,
  type PersonChange,
  personChange,
  readSettings,
  SHOULD_BE_IN,
} from './directory-rows.ts';
import { extraOf } from './person-facts.ts';
import { type ReceivedRequest, readRequests } from './request-log.ts';
import { rethrowAsNotUnique } from './stored.ts';

/** Rows that are read together. */
const BATCH = 500;
/** Rows that are applied in one step of the worker. */
const STEP = 20;

type SettingsChange = {
  mode?: DirectorySettings['mode'] | undefined;
  attributes?: Record<string, string> | undefined;
  /** The memberships that may be suspended or ended: not more than the caller has seen. */
  ends?: number | undefined;
};

export type ChangeQuery = PageRequest & { change?: string | undefined; cursor?: string | undefined };

/** How directories provision the people of clients: settings, what they would change, and what they have sent. */
export const createDirectories = (unit: UnitOfWork) => {
  const { em, clock, audit, baseUrl, directoryRequests } = unit;

  const record = async (
    tx: Em,
    actor: Actor,
    client: { id: number; name: string },
    event:
      | { action: 'directory.update'; details: Changes }
      | { action: 'directory.approve'; details: { people: number } },
  ) => audit.record(tx, [{ actor, target: ofClient(client), clients: [client.id], ...event }]);

  const read = async (db: Em, client: number) => {
    const settings = await readSettings(db, client);
    return {
      client,
      address: `${baseUrl}/scim/v2/${client}`,
      ...settings,
      ...(await readCounts(db, client, clock.now())),
    };
  };

  return {
    /** @throws Problem `not-found`, `forbidden` */
    get: async (actor: Actor, client: number) => {
      await readManagedClient(em, actor, client, 'configure');
      await directoryRequests.flush();
      return read(em, client);
    },

    /**
     * Changes the settings. With the mode `apply`, also if it is set already, everything that the directory has stated is applied, in the
     * background.
     * @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `precondition-failed`, `invalid-input` on `attributes`
     */
    update: (actor: Actor, client: number, changes: SettingsChange) =>
      em.transactional(async (tx) => {
        const now = clock.now();
        const row = await readManagedClient(tx, actor, client, 'configure');
        requireConfirmedSession(actor, now);
        requireKnownPaths(changes.attributes);
        const before = await lockSettings(tx, client);
        const { mode = before.mode, attributes = before.attributes } = changes;
        await kysely(tx)
          .updateTable('directories')
          .set({ mode, attributes: sql`${JSON.stringify(attributes)}::json` })
          .where('client_id', '=', client)
          .execute();
        if (canonicalJson(attributes) !== canonicalJson(before.attributes))
          await mapAgain(tx, client, attributes);
        if (mode === 'show') await forgetDue(tx, client);
        else await markDue(tx, client, now, { isWhole: changes.mode === 'apply' });
        const { ends = 0 } = changes;
        if (changes.mode === 'apply' && (await readCounts(tx, client, now)).ends > ends)
          throw new Problem('precondition-failed', MORE_ENDS);
        const details = diffColumns(before, { mode, attributes }, ['mode', 'attributes']);
        if (!isEmpty(details)) await record(tx, actor, row, { action: 'directory.update', details });
        return read(tx, client);
      }),

    /**
     * People or groups that are not as the directory states them, by id.
     * @throws Problem `not-found`, `forbidden`
     */
    listPeople: async (actor: Actor, client: number, query: ChangeQuery): Promise<PersonChangeRow[]> => {
      await readManagedClient(em, actor, client, 'configure');
      return readChanges(personRows(em, client, clock.now()), query);
    },

    /** @throws Problem `not-found`, `forbidden` */
    listGroups: async (actor: Actor, client: number, query: ChangeQuery): Promise<GroupChangeRow[]> => {
      await readManagedClient(em, actor, client, 'configure');
      return readChanges(groupRows(em, client), query);
    },

    /**
     * The last requests of the directory, newest first.
     * @throws Problem `not-found`, `forbidden`
     */
    requests: async (actor: Actor, client: number, page: CursorPageRequest) => {
      await readManagedClient(em, actor, client, 'configure');
      await directoryRequests.flush();
      return readRequests(em, client, page);
    },

    /**
     * People whose memberships the directory wants to end, and those whose end an admin has approved within a day, by id.
     * @throws Problem `not-found`, `forbidden`
     */
    listHeld: async (actor: Actor, client: number, page: CursorPageRequest): Promise<HeldRow[]> => {
      await readManagedClient(em, actor, client, 'configure');
      return readPage(
        afterCursor(heldRows(em, client, clock.now()), 'h.user_id', page.cursor),
        'h.user_id',
        page,
      );
    },

    /**
     * Lets the directory end the memberships that were held, within a day.
     * @param held how many of them were held until which time, as the admin has seen them
     * @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `precondition-failed`
     */
    approve: (actor: Actor, client: number, { held, until }: { held: number; until: Date }) =>
      em.transactional(async (tx) => {
        const now = clock.now();
        const row = await readManagedClient(tx, actor, client, 'configure');
        requireConfirmedSession(actor, now);
        const approved = await kysely(tx)
          .updateTable('directory_holds as h')
          .set({ approved_at: now })
          .where('h.client_id', '=', client)
          .where('h.held_at', '<=', until)
          .where(isHeld(now))
          .returning('h.user_id')
          .execute();
        if (approved.length !== held) throw new Problem('precondition-failed');
        await record(tx, actor, row, { action: 'directory.approve', details: { people: held } });
        return read(tx, client);
      }),

    /** The clients whose directories wait for an approval, of those that the actor configures. */
    listWaiting: async (actor: Actor): Promise<WaitingRow[]> =>
      kysely(em)
        .selectFrom('directory_holds as h')
        .innerJoin('clients', 'clients.id', 'h.client_id')
        .select(['clients.id as client', 'clients.name as client_name'])
        .select(({ fn }) => fn.countAll<number>().as('people'))
        .where(isHeld(clock.now()))
        .where(isAllowedIn(sql`h.client_id`, actor, 'configure'))
        .groupBy('clients.id')
        .orderBy('clients.id')
        .execute(),

    record: (request: ReceivedRequest): void => directoryRequests.record(request),

    /**
     * The directory that a caller speaks for. A person's token has no scope for this, however wide it is.
     * @throws Problem `insufficient-scope` for callers who are no directory, `not-found` for the address of another client
     */
    speakFor: (caller: Actor, client: number | null): ActingDirectory => {
      const { actions, only } = caller.scope;
      if (!isServiceAddress(caller.email) || !actions?.includes(DIRECTORY_SCOPE))
        throw scopeRequired(`${DIRECTORY_SCOPE}, of a service account`);
      if (client === null || only !== client) throw notFound('directory');
      return actingFor(client, caller, caller);
    },

    /** Applies some of what is due. Returns how many rows it has looked at. For any number of workers. */
    applyDue: async (): Promise<number> => {
      for (let count = 0; count < STEP; count++) {
        const isFound =
          (await applyNext(unit, 'directory_people')) || (await applyNext(unit, 'directory_groups'));
        if (!isFound) return count;
      }
      return STEP;
    },
  };
};

const MORE_ENDS = {
  detail:
    'More memberships would be suspended or ended than `ends` says. Look at the changes again, and send their number.',
};

type WaitingRow = { client: number; client_name: string; people: number };

/** `states`: the changes and other states by which rows are listed. */
type Listed = { id: string; states: string[] };

type PersonChangeRow = Listed & {
  change: PersonChange | null;
  user_name: string;
  email: string;
  first_name: string;
  last_name: string;
  problem: string | null;
  due_at: Date | null;
};

const personRows = (em: Em, client: number, now: Date) =>
  kysely(em)
    .selectFrom(
      sql<PersonChangeRow>`(
        select stated.*, array_remove(array[change, case when problem is not null then 'problem' end], null) as states
        from (
          select d.id, ${personChange(now)} as change, d.user_name, d.email, d.first_name, d.last_name, d.problem, d.due_at
          from ${PERSON_TABLES} where d.client_id = ${client}) stated)`.as('listed'),
    )
    .selectAll();

type GroupChangeRow = Listed & {
  change: GroupChange | null;
  name: string;
  group: number | null;
  problem: string | null;
  due_at: Date | null;
  added: number;
  removed: number;
};

const groupRows = (em: Em, client: number) =>
  kysely(em)
    .selectFrom(
      sql<GroupChangeRow>`(
        select stated.*, array_remove(array[change, case when problem is not null then 'problem' end], null) as states
        from (
          select g.id, ${GROUP_CHANGE} as change, g.display_name as name, own.id as group, g.problem, g.due_at,
            (select count(*)::int from ((${SHOULD_BE_IN}) except (${ARE_IN})) missing) as added,
            (select count(*)::int from ((${ARE_IN}) except (${SHOULD_BE_IN})) extra) as removed
          from ${GROUP_TABLES} where g.client_id = ${client}) stated)`.as('listed'),
    )
    .selectAll();

const heldRows = (em: Em, client: number, now: Date) =>
  kysely(em)
    .selectFrom('directory_holds as h')
    .innerJoin('users', 'users.id', 'h.user_id')
    .select(['users.id', 'users.email', 'users.first_name', 'users.last_name'])
    .select(['h.held_at', 'h.approved_at', 'h.is_last_admin'])
    .where('h.client_id', '=', client)
    .where(condition`(${isHeld(now)} or ${isApproved(now)})`)
    .orderBy('h.user_id');

type HeldRow = InferResult<ReturnType<typeof heldRows>>[number];

/** The rows in a state, or in any, by id. */
const readChanges = <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  { change, cursor, ...page }: ChangeQuery,
): Promise<O[]> => {
  const listed = rows
    .where(change === undefined ? condition`states <> '{}'` : condition`${change} = any(states)`)
    .where(cursor === undefined ? condition`true` : condition`id > ${cursor}`);
  return readPage(listed.orderBy(sql`id`), 'id', page);
};

/** @throws Problem `invalid-input` on `attributes` */
const requireKnownPaths = (attributes: Record<string, string> | undefined): void => {
  const unknown = Object.values(attributes ?? {}).filter((path) => {
    const found = findAttribute(USER_TYPE, path);
    return (
      found === null || found.attribute.returned === 'never' || found.attribute.mutability === 'readOnly'
    );
  });
  if (unknown.length > 0)
    throw invalid({ attributes: unknown.map((path) => `Users have no attribute ${path}.`) });
};

type Counts = {
  people: number;
  groups: number;
  changes: Partial<Record<PersonChange, number>>;
  group_changes: Partial<Record<GroupChange, number>>;
  held: number;
  held_until: Date | null;
  ends: number;
  due: number;
  problems: number;
  last_request_at: Date | null;
};

const readCounts = async (em: Em, client: number, now: Date): Promise<Counts> => {
  const { rows } = await sql<Counts>`
    with people as (
      select d.is_removed, d.due_at, d.problem,
        ${personChange(now)} as change
      from ${PERSON_TABLES} where d.client_id = ${client}),
    groups_stated as (
      select g.is_removed, g.due_at, g.problem, ${GROUP_CHANGE} as change from ${GROUP_TABLES} where g.client_id = ${client}),
    everything as (select due_at, problem from people union all select due_at, problem from groups_stated)
    select (select count(*)::int from people where not is_removed) as people,
      (select count(*)::int from groups_stated where not is_removed) as groups,
      (select coalesce(json_object_agg(change, n), '{}') from (
        select change, count(*)::int as n from people where change is not null group by change) counted) as changes,
      (select coalesce(json_object_agg(change, n), '{}') from (
        select change, count(*)::int as n from groups_stated where change is not null group by change) counted) as group_changes,
      (select count(*)::int from directory_holds h where h.client_id = ${client} and ${isHeld(now)}) as held,
      (select max(h.held_at) from directory_holds h where h.client_id = ${client} and ${isHeld(now)}) as held_until,
      (select count(*)::int from people where change in ('suspend', 'remove')) as ends,
      (select count(*)::int from everything where due_at is not null) as due,
      (select count(*)::int from everything where problem is not null) as problems,
      (select max(received_at) from directory_requests where client_id = ${client}) as last_request_at`.execute(
    kysely(em),
  );
  const [counts] = rows;
  if (!counts) throw new Error('a query without a table has no row');
  return counts;
};

/** Computes `extra` of all people by other attributes. */
const mapAgain = async (tx: Em, client: number, attributes: Record<string, string>): Promise<void> => {
  let after = '';
  for (;;) {
    const people = await kysely(tx)
      .selectFrom('directory_people')
      .select(['id', 'resource'])
      .where('client_id', '=', client)
      .where('id', '>', after)
      .orderBy('id')
      .limit(BATCH)
      .execute();
    const last = people.at(-1);
    if (!last) return;
    after = last.id;
    const mapped = people.map(({ id, resource }) => ({
      id,
      extra: extraOf(resource as Resource, attributes),
    }));
    await sql`
      update directory_people d set extra = mapped.extra
      from json_to_recordset(${JSON.stringify(mapped)}::json) as mapped (id varchar, extra json)
      where d.id = mapped.id`.execute(kysely(tx));
  }
};

const forgetDue = async (tx: Em, client: number): Promise<void> => {
  for (const table of ['directory_people', 'directory_groups'] as const)
    await kysely(tx)
      .updateTable(table)
      .set({ due_at: null, problem: null })
      .where('client_id', '=', client)
      .where((row) => row.or([row('due_at', 'is not', null), row('problem', 'is not', null)]))
      .execute();
};

/** Lets a worker apply what is not as the directory states it: everything, or only data of members. */
const markDue = async (
  tx: Em,
  client: number,
  now: Date,
  { isWhole }: { isWhole: boolean },
): Promise<void> => {
  const isDue = isWhole ? sql`is not null` : sql`= 'update'`;
  await sql`
    update directory_people set due_at = ${now}::timestamptz, problem = null where id in (
      select d.id from ${PERSON_TABLES} where d.client_id = ${client} and ${personChange(now)} ${isDue})`.execute(
    kysely(tx),
  );
  if (!isWhole) return;
  await sql`
    update directory_groups set due_at = ${now}::timestamptz, problem = null where id in (
      select g.id from ${GROUP_TABLES} where g.client_id = ${client} and ${GROUP_CHANGE} is not null)`.execute(
    kysely(tx),
  );
};

type DueTable = 'directory_people' | 'directory_groups';

/** Applies the row that is due first, unless another worker does. Returns whether there was one. */
const applyNext = async (unit: UnitOfWork, table: DueTable): Promise<boolean> => {
  let next: { id: string } | undefined;
  try {
    await unit.em.transactional(async (tx) => {
      const row = await kysely(tx)
        .selectFrom(table)
        .select(['id', 'client_id', 'stated_by'])
        .where('due_at', '<=', unit.clock.now())
        .orderBy('due_at')
        .limit(1)
        .forUpdate()
        .skipLocked()
        .executeTakeFirst();
      next = row;
      if (!row) return;
      const stated = kysely(tx).selectFrom('users').select(['id', 'email']).where('id', '=', row.stated_by);
      const directory = actingFor(row.client_id, await stated.executeTakeFirstOrThrow());
      const inner = { ...unit, em: tx };
      if (table === 'directory_groups') await applyGroup(inner, directory, row.id);
      else await applyPerson(inner, { ...directory, isApproved: true }, row.id);
      await kysely(tx).updateTable(table).set({ due_at: null }).where('id', '=', row.id).execute();
    });
  } catch (error) {
    if (next === undefined) throw error;
    const problem = explain(error);
    if (problem === null)
      unit.logger.warn({ err: error, row: next.id }, 'a row of a directory cannot be applied');
    else if (problem.status >= 500) throw error;
    const reason = problem
      ? [problem.message, ...Object.values(problem.fields ?? {}).flat()].join(' ')
      : UNEXPECTED;
    await kysely(unit.em)
      .updateTable(table)
      .set({ due_at: null, problem: reason.slice(0, 500) })
      .where('id', '=', next.id)
      .execute();
  }
  return next !== undefined;
};

const UNEXPECTED = 'An unexpected error occurred, which the log of the service describes.';

/** The problem that an error is for admins; null for a bug. */
const explain = (error: unknown): Problem | null => {
  try {
    return rethrowAsNotUnique(error);
  } catch (explained) {
    return explained instanceof Problem ? explained : problemOfDatabaseError(explained);
  }
};
