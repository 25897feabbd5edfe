import { sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { auditEntryVisibleTo, clientAuditVisibleTo } from '../access/visibility.ts';
import { hasAddress, isWithin, type PersonAddress, readAddressesOf } from '../users/addresses.ts';
import { type AuditAction, withoutValues } from './audit.ts';

type AuditFilter = {
  action?: AuditAction | undefined;
  actor?: string | undefined;
  target?: string | undefined;
  /** The address of a person: entries about them, and changes of groups that name them as a member. */
  person?: string | undefined;
  client?: number | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  operation?: string | undefined;
  /** The id of the last entry of the previous page. */
  cursor?: number | undefined;
};

/** Reads the audit trail: as `auditEntryVisibleTo` allows. */
export const createAuditTrail = ({ em }: { em: Em }) => ({
  /**
   * Newest first.
   * @throws Problem `invalid-input` on `cursor`
   */
  list: async (actor: Actor, filter: AuditFilter, page: PageRequest): Promise<AuditRow[]> => {
    const visible = auditRows(em).where(auditEntryVisibleTo(actor));
    const addressesOf = (email: string) => readAddressesOf(em, actor, email);
    let rows = visible;
    if (filter.action !== undefined) rows = rows.where('action', '=', filter.action);
    if (filter.actor !== undefined)
      rows = rows.where(hasAddress('actor_email', 'occurred_at', await addressesOf(filter.actor)));
    if (filter.target !== undefined)
      rows = rows.where(hasAddress('target', 'occurred_at', await addressesOf(filter.target)));
    if (filter.person !== undefined) rows = rows.where(concernsPerson(await addressesOf(filter.person)));
    // Clients that are hidden in the entries must not be found by filtering either.
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
    return (await readPage(rows, 'id', page)).map((row) => redactFor(actor, row));
  },
});

/** Whether entries that the actor may see tell that they concern this client, too. */
export const seesAuditOf = (actor: Actor, clientId: number): boolean =>
  can(actor, 'read-audit', clientId) || can(actor, 'poll-events', clientId);

/** The clients of an entry, without those that the actor must not know of. */
export const clientsSeenIn = ({ client_ids }: Pick<AuditRow, 'client_ids'>, actor: Actor): number[] =>
  client_ids.filter((id) => seesAuditOf(actor, id));

/**
 * If an entry also concerns clients of others, client admins see what was changed, but neither values, nor the reason, nor the network
 * address.
 */
export const redactFor = (actor: Actor, row: AuditRow): AuditRow => {
  // It counts the rows of all clients.
  if (row.action === 'user.erase' && !canViewAll(actor)) return { ...row, details: {}, address: null };
  if (row.client_ids.every((id) => seesAuditOf(actor, id))) return row;
  const { reason: _, ...details } = withoutValues(row.details);
  return { ...row, details, address: null };
};

/** The entries of an operation follow it within a few hours, so the index by time finds them. */
const isOfOperation = (id: string) => condition`
  (details ->> 'operation' = ${id}
    and occurred_at >= (select started_at from operations where id = ${id})
    and occurred_at < (select started_at + interval '1 day' from operations where id = ${id}))`;

/** Each part is read by an index. */
const concernsPerson = (addresses: readonly PersonAddress[]) => condition`id in (
  select id from audit_entries where ${hasAddress('target', 'occurred_at', addresses)}
  union all select id from audit_entries
  where action in ('group.create', 'group.remove', 'group.update')
    and (${sql.join(addresses.map(isMember), sql` or `)}))`;

const isMember = ({ email, ...times }: PersonAddress) => sql`
  (((details -> 'members' -> 'added')::jsonb ? ${email} or (details -> 'members' -> 'removed')::jsonb ? ${email})
    and ${isWithin(sql.ref('occurred_at'), times)})`;

const auditRows = (em: Em) =>
  kysely(em)
    .selectFrom('audit_entries')
    .select(['id', 'occurred_at', 'action', 'actor_email', 'target', 'client_ids'])
    .select(['details', 'request_id', 'address'])
    .orderBy('occurred_at', 'desc')
    .orderBy('id', 'desc');

export type AuditRow = Awaited<ReturnType<ReturnType<typeof auditRows>['execute']>>[number];
