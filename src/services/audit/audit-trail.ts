import { sql } from 'kysely';
import { OPERATION_KEY } from '../../../entities/audit.ts';
import { type Condition, condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import {
  auditEntryVisibleTo,
  clientAuditVisibleTo,
  isAllowedIn,
  userVisibleTo,
} from '../access/visibility.ts';
import { findUserId } from '../accounts/addresses.ts';
import { type AuditAction, withoutValues } from './audit.ts';
import { LOGIN_ACTIONS } from './event-types.ts';

/** The two parts of the audit trail: what people changed, and who got in or was refused. */
export const AUDIT_KINDS = ['changes', 'logins'] as const;

type AuditFilter = {
  action?: AuditAction | undefined;
  /** Any of these. */
  actions?: readonly AuditAction[] | undefined;
  kind?: (typeof AUDIT_KINDS)[number] | undefined;
  /** The address of a person, who is found under any address they acted with; or the label of someone who no longer exists. */
  actor?: string | undefined;
  /** The address of a person, as for `actor`; or the label of an object at that time. */
  target?: string | undefined;
  /** The address of a person: entries about them, including changes of groups that name the person as a member. */
  person?: string | undefined;
  client?: number | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  operation?: string | undefined;
  /** The id of the last entry of the previous page. */
  cursor?: number | undefined;
};

/** More entries of an operation than these are not counted. */
const MAX_COUNTED = 1000;

/** SQL over `audit_entries`: what the filter selects of what the actor sees, without the cursor. */
const conditionOf = async (em: Em, actor: Actor, filter: AuditFilter): Promise<Condition> => {
  const named = async (label: string) => ({ label, id: await findUserId(em, actor, label) });
  const { action, actions, kind, client, from, to, operation } = filter;
  const parts = [auditEntryVisibleTo(actor)];
  if (action !== undefined) parts.push(condition`action = ${action}`);
  if (actions !== undefined) parts.push(isAction(actions));
  if (kind !== undefined) parts.push(kind === 'logins' ? isAction(LOGIN_ACTIONS) : IS_CHANGE);
  if (filter.actor !== undefined) parts.push(isActor(await named(filter.actor)));
  if (filter.target !== undefined) parts.push(isTarget(await named(filter.target)));
  if (filter.person !== undefined) parts.push(concernsPerson(await named(filter.person)));
  // Clients that are hidden in the entries must not be found by a filter, either.
  if (client !== undefined)
    parts.push(condition`client_ids && ${[client]}::int[]`, clientAuditVisibleTo(actor, sql`${client}::int`));
  if (from !== undefined) parts.push(condition`occurred_at >= ${from}`);
  if (to !== undefined) parts.push(condition`occurred_at < ${to}`);
  if (operation !== undefined) parts.push(isOfOperation(operation));
  return condition`(${sql.join(parts, sql` and `)})`;
};

/** The newest entry of each operation that is wanted. */
export const operationRows = async (em: Em, actor: Actor, filter: AuditFilter) => {
  const wanted = await conditionOf(em, actor, filter);
  return { wanted, rows: auditRows(em).where(wanted).where(isNewest(wanted)) };
};

/** Reads the entries of the audit trail that `auditEntryVisibleTo` allows. */
export const createAuditTrail = ({ em }: { em: Em }) => {
  /** Newest first. */
  const read = async (
    actor: Actor,
    rows: ReturnType<typeof auditRows>,
    cursor: number | undefined,
    page: PageRequest,
  ): Promise<AuditRow[]> => {
    let after = rows;
    if (cursor !== undefined) {
      const visible = auditRows(em).where(auditEntryVisibleTo(actor));
      const { occurred_at: at, id } = await cursorRow(visible.where('id', '=', cursor));
      after = rows.where(condition`(occurred_at, id) < (${at}, ${id})`);
    }
    return (await readPage(after, 'id', page)).map((row) => redactFor(actor, row));
  };

  return {
    /** @throws Problem `invalid-input` on `cursor` */
    list: async (actor: Actor, filter: AuditFilter, page: PageRequest): Promise<ListedEntry[]> => {
      const rows = auditRows(em).where(await conditionOf(em, actor, filter));
      return withPeople(em, actor, await read(actor, rows, filter.cursor, page), namedInDetails);
    },

    /**
     * One row for an operation: its newest entry that the filter selects, with a summary of all of them.
     * @throws Problem `invalid-input` on `cursor`
     */
    listOperations: async (
      actor: Actor,
      filter: AuditFilter,
      page: PageRequest,
    ): Promise<ListedOperation[]> => {
      const { wanted, rows } = await operationRows(em, actor, filter);
      const found = await read(actor, rows, filter.cursor, page);
      const summaries = await summarize(em, found, wanted);
      const named = await withPeople(em, actor, found, (row) => [
        ...namedIn(row),
        summaries.get(row.id)?.person?.id,
      ]);
      return named.map((row) => ({ ...row, summary: summaries.get(row.id) ?? null }));
    },

    /**
     * The entries of the operation of this entry that the filter selects.
     * @throws Problem `invalid-input` on `cursor`
     */
    listOperation: async (
      actor: Actor,
      entry: number,
      filter: AuditFilter,
      page: PageRequest,
    ): Promise<ListedOperation[]> => {
      const rows = auditRows(em)
        .where(await conditionOf(em, actor, filter))
        .where(isOfSame(actor, entry));
      const named = await withPeople(em, actor, await read(actor, rows, filter.cursor, page), namedIn);
      return named.map((row) => ({ ...row, summary: null }));
    },
  };
};

const isAction = (actions: readonly AuditAction[]) => isAnyOf('action', actions, 'varchar');

const IS_CHANGE = condition`action <> all(${[...LOGIN_ACTIONS]}::varchar[])`;

const KEY = sql<string | null>`${sql.raw(OPERATION_KEY)}`;

/**
 * SQL: whether no later entry of the same operation is wanted, by one index lookup for each entry. The columns of the outer entry are in a
 * table of their own, so that the filter applies to the later ones.
 */
const isNewest = (wanted: Condition) => condition`not exists (
  select from (select id as row_id, occurred_at as row_at, ${KEY} as row_key) as listed, audit_entries
  where ${KEY} = row_key and (occurred_at, id) > (row_at, row_id) and ${wanted})`;

/** SQL: whether an entry belongs to the operation of this one, which the actor sees. */
const isOfSame = (actor: Actor, entry: number) => {
  const one = sql`from audit_entries where id = ${entry} and ${auditEntryVisibleTo(actor)}`;
  return condition`(id = ${entry} or ${KEY} = (select ${KEY} ${one}))`;
};

/** What the entries of an operation have in common, as far as the filter selects them. */
export type OperationSummary = {
  /** At most one more than `MAX_COUNTED`. */
  count: number;
  targets: number;
  target_types: string[];
  people: number;
  /** The person, if there is only one, with the address at that time. */
  person: { id: number | null; email: string } | null;
  actions: string[];
  /** Whether all entries have the same action and details. */
  is_same: boolean;
  /** What was done to many people, such as `offboard`; null for other operations. */
  change: string | null;
};

/** SQL over `operations`: only changes of many people are JSON. */
const CHANGE = sql`case when change like '{%' then change::json ->> 'action' end`;

/** By the newest entry of each operation with several entries. */
const summarize = async (em: Em, rows: readonly AuditRow[], wanted: Condition) => {
  const ids = rows.map(({ id }) => id);
  const { rows: found } = await sql<OperationSummary & { row_id: number }>`
    select row_id, counted.*, ${CHANGE} as change
    from (select id as row_id, ${KEY} as row_key, details ->> 'operation' as operation
      from audit_entries where ${isAnyOf('id', ids, 'bigint')}) as listed
    left join operations on operations.id = operation::uuid
    cross join lateral (
      select count(*)::int as count,
        count(distinct (coalesce(target_type, ''), target))::int as targets,
        array_remove(array_agg(distinct target_type), null) as target_types,
        count(distinct target) filter (where is_person)::int as people,
        case when count(distinct target) filter (where is_person) = 1 then json_build_object(
          'id', max(target_id) filter (where is_person)::int,
          'email', max(target_label) filter (where is_person)) end as person,
        array_agg(distinct action::text) as actions,
        count(distinct (action, details::text)) = 1 as is_same
      from (
        select action, target_type, target_id, target_label, details,
          coalesce(target_id, target_label) as target, target_type = 'user' as is_person
        from audit_entries
        where ${KEY} = row_key and ${wanted}
        order by occurred_at desc, id desc limit ${sql.lit(MAX_COUNTED + 1)}) as entries) as counted
    where counted.count > 1`.execute(kysely(em));
  return new Map(found.map(({ row_id, ...summary }) => [row_id, summary]));
};

/** Adds the people with these ids, with their present addresses and names. Only those whom the actor sees. */
const withPeople = async (
  em: Em,
  actor: Actor,
  rows: readonly AuditRow[],
  idsIn: (row: AuditRow) => unknown[],
): Promise<ListedEntry[]> => {
  const idsOf = (row: AuditRow) => idsIn(row).filter((id) => typeof id === 'number');
  const ids = new Set(rows.flatMap(idsOf));
  const known = ids.size === 0 ? [] : await peopleSeenBy(em, actor, ids).execute();
  return rows.map((row) => {
    const named = idsOf(row);
    return { ...row, people: known.filter(({ id }) => named.includes(id)) };
  });
};

/** The kinds of accounts that act. */
export const ACCOUNT_KINDS = ['person', 'service-account', 'directory'] as const;

/** Service accounts are seen by those who see their client. */
const peopleSeenBy = (em: Em, actor: Actor, ids: Iterable<number>) =>
  kysely(em)
    .selectFrom('users')
    .leftJoin('service_accounts as s', 's.user_id', 'users.id')
    .select(['users.id', 'users.email'])
    .select(sql<string>`coalesce(s.name, trim(users.first_name || ' ' || users.last_name))`.as('name'))
    .select(
      sql<(typeof ACCOUNT_KINDS)[number]>`case when s.user_id is null then 'person'
        when s.scopes = '{scim}' then 'directory' else 'service-account' end`.as('kind'),
    )
    .where(isAnyOf('users.id', ids, 'int'))
    .where(
      condition`(${userVisibleTo(actor)} or s.user_id is not null and ${isAllowedIn(sql`s.client_id`, actor, 'view')})`,
    );

/** The ids of the actor, of the target if it is a person, and of the people in the details. */
const namedIn = (row: AuditRow): unknown[] => [
  row.actor_id,
  row.target_type === 'user' && row.target_id !== null ? Number(row.target_id) : null,
  ...namedInDetails(row),
];

/** The ids of people in the details of an entry, which `EVENTS` describes. */
const namedInDetails = ({ details: { user, viewer, members } }: AuditRow): unknown[] => {
  const { added = [], removed = [] } = Object(members) as { added?: unknown[]; removed?: unknown[] }; // as recorded
  return [user, viewer, ...added, ...removed];
};

/** Whether the actor may learn that an entry concerns this client. */
export const seesAuditOf = (actor: Actor, clientId: number): boolean =>
  can(actor, 'read-audit', clientId) || can(actor, 'poll-events', clientId);

/** The clients of an entry that the actor may know of. */
export const clientsSeenIn = ({ client_ids }: Pick<AuditRow, 'client_ids'>, actor: Actor): number[] =>
  client_ids.filter((id) => seesAuditOf(actor, id));

/**
 * If an entry also concerns clients that the client admin does not administer, the admin sees which fields were changed, but not the
 * values, the reason or the network address.
 */
export const redactFor = (actor: Actor, row: AuditRow): AuditRow => {
  // Its details count the rows of all clients.
  if (row.action === 'user.erase' && !canViewAll(actor)) return { ...row, details: {}, address: null };
  if (row.client_ids.every((id) => seesAuditOf(actor, id))) return row;
  const { reason: _, ...details } = withoutValues(row.details);
  return { ...row, details, address: null };
};

/** By the key of its changes, or of its undo. */
const isOfOperation = (id: string) => condition`${KEY} = any(${[id, `${id}true`]}::text[])`;

/** A label, and the user whose address it is now, if the actor sees them. */
type Named = { label: string; id: number | undefined };

const isActor = ({ id, label }: Named) =>
  id === undefined ? condition`actor_label = ${label}` : condition`actor_id = ${id}`;

/** A target without an account is also found by its label: invitations, and requests that only name an address. */
const isTarget = ({ id, label }: Named) =>
  id === undefined
    ? condition`target_label = ${label}`
    : condition`(target_type = 'user' and target_id = ${String(id)}
        or target_label = ${label} and (target_type is distinct from 'user' or target_id is null))`;

/** Each part is read by an index. */
const concernsPerson = (person: Named) => condition`id in (
  select id from audit_entries where ${isTarget(person)}
  union all select id from audit_entries
  where action in ('group.create', 'group.remove', 'group.update')
    and (${isMember('added', person)} or ${isMember('removed', person)}))`;

const isMember = (change: 'added' | 'removed', { id = 0 }: Named) =>
  sql`(details -> 'members' -> ${sql.lit(change)})::jsonb @> to_jsonb(${id}::int)`;

/** The columns that say who did something, and to whom or what. */
export const NAMES = [
  'actor_type',
  'actor_id',
  'actor_label',
  'target_type',
  'target_id',
  'target_label',
] as const;

const auditRows = (em: Em) =>
  kysely(em)
    .selectFrom('audit_entries')
    .select(['id', 'occurred_at', 'action', ...NAMES, 'client_ids'])
    .select(['details', 'request_id', 'address'])
    .orderBy('occurred_at', 'desc')
    .orderBy('id', 'desc');

export type ListedEntry = AuditRow & {
  people: { id: number; email: string; name: string; kind: (typeof ACCOUNT_KINDS)[number] }[];
};

/** `summary`: null for an operation with one entry. */
export type ListedOperation = ListedEntry & { summary: OperationSummary | null };

export type AuditRow = Awaited<ReturnType<ReturnType<typeof auditRows>['execute']>>[number];
