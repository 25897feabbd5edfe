import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { auditEntrySeenBy } from '../access/visibility.ts';

/** Decisions about a person after an operation has changed them. An undo does not revert these. */
export type LaterChanges = {
  apps: ReadonlySet<string>;
  groups: ReadonlySet<number>;
  /** Clients in which the membership or the roles changed. */
  clients: ReadonlySet<number>;
  /** Whether the account was activated or deactivated, and whether its roles in all clients changed. */
  account: boolean;
  roles: boolean;
  /** Who made the last of these changes among those that the actor may read about. */
  by: string | null;
};

type Entry = {
  action: string;
  target_type: string | null;
  target_id: string | null;
  actor_label: string;
  client_ids: number[];
  details: { granted?: string[]; revoked?: string[]; app?: string };
};

/** The change of a locked person by an operation, and the groups that it concerns. */
type Changed = { operation: string; userId: number; changedAt: Date; groups: readonly number[] };

const OF_MEMBERSHIP = /^(membership\.|client\.(add|remove)-|invitation\.accept$|identity\.link$)/;
const OF_ACCOUNT = /^user\.(de|re)activate$/;

/**
 * Reads the audit trail, which records every decision about the person. Entries after the operation's own are later, because the person was
 * locked for each.
 */
export const readLaterChanges = async (tx: Em, actor: Actor, changed: Changed): Promise<LaterChanges> => {
  const entries = (await entriesAbout(changed).execute(kysely(tx))).rows;
  const isSeen = auditEntrySeenBy(actor);
  const of = (pattern: RegExp) => entries.filter(({ action }) => pattern.test(action));
  return {
    apps: new Set(
      of(/^(user\.change-apps|grant\.)/).flatMap(({ details: { granted = [], revoked = [], app } }) => [
        ...granted,
        ...revoked,
        ...(app === undefined ? [] : [app]),
      ]),
    ),
    groups: new Set(of(/^group\./).map(({ target_id }) => Number(target_id))),
    clients: new Set(of(OF_MEMBERSHIP).flatMap(({ client_ids }) => client_ids)),
    account: of(OF_ACCOUNT).length > 0,
    roles: of(/^user\.update-roles$/).length > 0,
    by: entries.findLast((entry) => entry.actor_label !== '' && isSeen(entry))?.actor_label ?? null,
  };
};

/**
 * Entries about the person; entries about the groups that name the person; and entries by the person, who may have accepted an invitation.
 */
const entriesAbout = ({ operation, userId, changedAt, groups }: Changed) => {
  const member = sql`${JSON.stringify([userId])}::jsonb`;
  const columns = sql`select id, action, target_type, target_id, actor_label, client_ids, details from audit_entries
    where occurred_at >= ${changedAt}::timestamptz`;
  return sql<Entry>`
    with about as (
      ${columns} and target_type = 'user' and target_id = ${String(userId)}
      union all ${columns} and target_type = 'group' and target_id = any(${groups.map(String)}::text[])
        and ((details -> 'members' -> 'added')::jsonb @> ${member} or (details -> 'members' -> 'removed')::jsonb @> ${member})
      union all ${columns} and actor_id = ${userId} and action in ('invitation.accept', 'identity.link'))
    select * from about where details ->> 'operation' is distinct from ${operation}
      and id > (select coalesce(max(id), 0) from about where details ->> 'operation' = ${operation}) order by id`;
};
