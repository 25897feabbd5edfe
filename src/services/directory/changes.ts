import { type SelectQueryBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { type PageRequest, readPage } from '../../db/pagination.ts';
import {
  ARE_IN,
  GROUP_CHANGE,
  GROUP_TABLES,
  type GroupChange,
  PERSON_TABLES,
  type PersonChange,
  personChange,
  SHOULD_BE_IN,
} from './directory-rows.ts';
import { isHeld } from './holds.ts';

/** What is not as a directory states it, for admins to see. */

export type ChangeQuery = PageRequest & { change?: string | undefined; cursor?: string | undefined };

/** `states`: the changes and other states by which rows are listed. */
type Listed = { id: string; states: string[] };

export type PersonChangeRow = Listed & {
  change: PersonChange | null;
  user_name: string;
  email: string;
  first_name: string;
  last_name: string;
  problem: string | null;
  due_at: Date | null;
};

export const personChangeRows = (em: Em, client: number, now: Date) =>
  kysely(em)
    .selectFrom(
      sql<PersonChangeRow>`(
        select stated.*, array_remove(array[change, case when problem is not null then 'problem' end], null) as states
        from (
          select d.id, ${personChange(now)} as change, d.user_name, d.email, d.first_name, d.last_name, d.problem, d.due_at
          from ${PERSON_TABLES} where d.client_id = ${client}) stated)`.as('listed'),
    )
    .selectAll();

export type GroupChangeRow = Listed & {
  change: GroupChange | null;
  name: string;
  group: number | null;
  problem: string | null;
  due_at: Date | null;
  added: number;
  removed: number;
};

export const groupChangeRows = (em: Em, client: number) =>
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

/** The rows in a state, or in any, by id. */
export const readChanges = <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  { change, cursor, ...page }: ChangeQuery,
): Promise<O[]> => {
  const listed = rows
    .where(change === undefined ? condition`states <> '{}'` : condition`${change} = any(states)`)
    .where(cursor === undefined ? condition`true` : condition`id > ${cursor}`);
  return readPage(listed.orderBy(sql`id`), 'id', page);
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

export const readCounts = async (em: Em, client: number, now: Date): Promise<Counts> => {
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
