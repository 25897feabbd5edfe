import { sql } from 'kysely';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { auditEntryVisibleTo, clientAuditVisibleTo, userVisibleTo } from '../access/visibility.ts';
import { findUserId } from '../accounts/addresses.ts';
import { type AuditAction, withoutValues } from './audit.ts';

type AuditFilter = {
  action?: AuditAction | undefined;
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

/** Reads the entries of the audit trail that `auditEntryVisibleTo` allows. */
export const createAuditTrail = ({ em }: { em: Em }) => ({
  /**
   * Newest first.
   * @throws Problem `invalid-input` on `cursor`
   */
  list: async (actor: Actor, filter: AuditFilter, page: PageRequest): Promise<ListedEntry[]> => {
    const visible = auditRows(em).where(auditEntryVisibleTo(actor));
    const named = async (label: string) => ({ label, id: await findUserId(em, actor, label) });
    let rows = visible;
    if (filter.action !== undefined) rows = rows.where('action', '=', filter.action);
    if (filter.actor !== undefined) rows = rows.where(isActor(await named(filter.actor)));
    if (filter.target !== undefined) rows = rows.where(isTarget(await named(filter.target)));
    if (filter.person !== undefined) rows = rows.where(concernsPerson(await named(filter.person)));
    // Clients that are hidden in the entries must not be found by a filter, either.
    if (filter.client !== undefined)
      rows = rows
        .where(condition`client_ids && ${[filter.client]}::int[]`)
        .where(clientAuditVisibleTo(actor, sql`${filter.client}::int`));
    if (filter.from !== undefined) rows = rows.where('occurred_at', '>=', filter.from);
    if (filter.to !== undefined) rows = rows.where('occurred_at', '<', filter.to);
    if (filter.operation !== undefined) rows = rows.where(isOfOperation(filter.operation));
    if (filter.cursor !== undefined) {
      const { occurred_at: at, id } = await cursorRow(visible.where('id', '=', filter.cursor));
      rows = rows.where(condition`(occurred_at, id) < (${at}, ${id})`);
    }
    return withPeople(
      em,
      actor,
      (await readPage(rows, 'id', page)).map((row) => redactFor(actor, row)),
    );
  },
});

/** Adds the present addresses of the people whom the details name by id. Only people whom the actor sees. */
const withPeople = async (em: Em, actor: Actor, rows: readonly AuditRow[]) => {
  const ids = new Set(rows.flatMap(({ details }) => idsIn(details)));
  const users = kysely(em)
    .selectFrom('users')
    .select(['id', 'email'])
    .where(isAnyOf('id', ids, 'int'));
  const known = ids.size === 0 ? [] : await users.where(userVisibleTo(actor)).execute();
  return rows.map((row) => {
    const named = idsIn(row.details);
    return { ...row, people: known.filter(({ id }) => named.includes(id)) };
  });
};

/** The ids of people in the details of an entry, which `EVENTS` describes. */
const idsIn = ({ user, members }: Record<string, unknown>): number[] => {
  const { added = [], removed = [] } = Object(members) as { added?: unknown[]; removed?: unknown[] }; // as recorded
  return [user, ...added, ...removed].filter((id) => typeof id === 'number');
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

/** The entries of an operation are written within a few hours, so the index by time finds them. */
const isOfOperation = (id: string) => condition`
  (details ->> 'operation' = ${id}
    and occurred_at >= (select started_at from operations where id = ${id})
    and occurred_at < (select started_at + interval '1 day' from operations where id = ${id}))`;

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

/** The columns that tell who did something, and to whom or what. */
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

export type ListedEntry = AuditRow & { people: { id: number; email: string }[] };

export type AuditRow = Awaited<ReturnType<ReturnType<typeof auditRows>['execute']>>[number];
