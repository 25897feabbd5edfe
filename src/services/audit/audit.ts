import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { notifyListeners } from '../../db/pg-listener.ts';
import type { Clock } from '../../lib/clock.ts';
import { type AddressDigest, NO_DIGEST } from '../data-rights/erasure-keys.ts';
import { ACCOUNT_ACTIVITY, type AuditAction, type DetailsOf } from './event-types.ts';

export type { AuditAction, DetailsOf } from './event-types.ts';

/** The actions on one kind of resource. */
export type ActionOn<Noun extends string> = AuditAction & `${Noun}.${string}`;

/** Notified by each transaction that records an entry, while someone listens. */
export const EVENT_CHANNEL = 'events';
/** Notified by the same transactions while there is an active webhook. */
export const WEBHOOK_CHANNEL = 'webhooks';

const MAX_TEXT_LENGTH = 200;

/** The request that caused a change; null for changes by the service or the command line. */
export type Origin = { requestId: string | null; address: string | null };

export const NO_ORIGIN: Origin = { requestId: null, address: null };

export type AuditEvent = Happening<AuditAction> & {
  /** Null for anonymous callers and for the service. */
  actor: { email: string } | null;
  /** Email address, slug or domain of the changed resource. */
  target: string;
  /** The clients that the change concerns. Users who may `read-audit` in one of them see the entry. */
  clients?: readonly number[];
  /** Of someone who does not belong to the clients: the entry has no network address. */
  isForeign?: boolean;
};

/** One of these actions, with its details: what changed. Names and numbers only, never a password, token or link, nor a value derived from one. */
export type Happening<Action extends AuditAction> = {
  [A in Action]: { action: A; details?: DetailsOf<A> };
}[Action];

/** What each event has in which people change their own account. */
export const ofOneself = (user: { email: string; clientIds: readonly number[] }) => ({
  actor: user,
  target: user.email,
  clients: user.clientIds,
});

export type Audit = {
  record: (tx: Em, events: readonly AuditEvent[]) => Promise<void>;
  /** Adds these details to all events. */
  withDetails: (details: Record<string, unknown>) => Audit;
};

/**
 * Writes the audit trail, whose entries are also events for those who follow what happens. Entries are written in the same transaction as the change that they record. An address that was
 * erased while its request was running, and that has neither an account nor an invitation now, is replaced.
 */
export const createAudit = (
  origin: Origin,
  clock: Clock,
  digestOf: AddressDigest = NO_DIGEST,
  common: Record<string, unknown> = {},
): Audit => ({
  record: async (tx, events) => {
    if (events.length === 0) return;
    const now = clock.now();
    const rows = events.map(({ action, actor, target, clients = [], isForeign = false, details }) => ({
      action,
      is_foreign: isForeign,
      actor: actor?.email ?? '',
      actor_digest: digestOf(actor?.email ?? ''),
      target,
      target_digest: isOfInvitation(action) ? null : digestOf(target),
      clients,
      details: { ...details, ...common },
    }));
    await sql`
      with recorded as (insert into audit_entries
        (occurred_at, request_id, address, action, actor_email, target, client_ids, details)
      select now, ${origin.requestId}::varchar, case when not is_foreign then ${origin.address}::varchar end, action,
        coalesce(case when has_erasures then audited_pseudonym_of(actor, actor_digest, now, '{}') end, actor),
        coalesce(case when has_erasures then audited_pseudonym_of(target, target_digest, now, clients) end, target),
        case when action = any(${ACCOUNT_ACTIVITY}::text[]) and exists (select from users
            where email = coalesce(nullif(target, ''), actor) and (is_staff or is_superuser))
          then '{}' else clients end, details
      from (select exists (select from erasures), ${now}::timestamptz) as erased (has_erasures, now),
        json_to_recordset(${JSON.stringify(rows)}::json) as event
          (action text, is_foreign boolean, actor text, actor_digest text, target text, target_digest text,
            clients int[], details json)
      returning id),
      queued as (insert into unpublished_events (entry_id) select id from recorded)
      select ${notifyListeners(EVENT_CHANNEL)}, case when exists (select from webhooks where is_active)
        then pg_notify(${WEBHOOK_CHANNEL}, '') end`.execute(kysely(tx));
  },
  withDetails: (details) => createAudit(origin, clock, digestOf, { ...common, ...details }),
});

/** The target is the address of a locked invitation, which an erasure replaces, too. One of later is that of a new person. */
const isOfInvitation = (action: AuditAction): boolean => action.startsWith('invitation.');

/** Old and new value by column. */
export type Changes = Record<string, { from: unknown; to: unknown }>;

/** Lists the changes of these columns for the audit trail. Long texts are truncated. */
export const diffColumns = <T extends object>(
  before: T,
  after: T,
  columns: readonly (keyof T & string)[],
): Changes => {
  const changes: Changes = {};
  for (const column of columns) {
    const [from, to] = [before[column], after[column]];
    if (JSON.stringify(from) !== JSON.stringify(to))
      changes[column] = { from: truncate(from), to: truncate(to) };
  }
  return changes;
};

/** The same details without the values of changes: only the names of the changed columns. */
export const withoutValues = (details: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      isChange(value) ? { from: null, to: null } : value,
    ]),
  );

const isChange = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'from' in value && 'to' in value;

export const isEmpty = (changes: Changes): boolean => Object.keys(changes).length === 0;

const truncate = (value: unknown): unknown =>
  typeof value === 'string' && value.length > MAX_TEXT_LENGTH
    ? `${value.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…`
    : value;
