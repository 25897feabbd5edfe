import { type RawBuilder, sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { notifyListeners } from '../../db/notifications.ts';
import type { Clock } from '../../lib/clock.ts';
import { ERASED_DOMAIN, SERVICE_DOMAIN } from '../../lib/email-address.ts';
import { ACCOUNT_ACTIVITY, type AuditAction, type DetailsOf } from './event-types.ts';

export type { AuditAction, DetailsOf } from './event-types.ts';

/** The actions on one kind of resource. */
export type ActionOn<Noun extends string> = AuditAction & `${Noun}.${string}`;

/** Notified by each transaction that records an entry, if someone listens. */
export const EVENT_CHANNEL = 'events';
/** Notified by the same transactions if there is an active webhook. */
export const WEBHOOK_CHANNEL = 'webhooks';

const MAX_TEXT_LENGTH = 200;

/** The request that caused a change; null for changes by the service or the command line. */
export type Origin = { requestId: string | null; address: string | null };

export const NO_ORIGIN: Origin = { requestId: null, address: null };

export type Person = { id: number; email: string };

/** What an action changed. For things that belong to a person, such as a token, the person is the target. */
export type Target = {
  type: TargetType | null;
  /** Null if there is only a label, such as an address without an account. */
  id: number | string | null;
  /** Its present name, for readers. */
  label: string;
};

type TargetType =
  | 'app'
  | 'client'
  | 'connection'
  | 'domain'
  | 'group'
  | 'invitation'
  | 'service-account'
  | 'signing-key'
  | 'site'
  | 'user'
  | 'webhook';

export const NO_TARGET: Target = { type: null, id: null, label: '' };

export const ofUser = ({ id, email }: Person): Target => ({ type: 'user', id, label: email });

/** An address without an account, or with one that the entry must not name. */
export const ofAddress = (email: string): Target => ({ type: 'user', id: null, label: email });

export const ofApp = ({ id, slug }: { id: string; slug: string }): Target => ({
  type: 'app',
  id,
  label: slug,
});

export const ofClient = ({ id, name }: { id: number; name: string }): Target => ({
  type: 'client',
  id,
  label: name,
});

export const ofSite = ({ id, domain }: { id: number; domain: string }): Target => ({
  type: 'site',
  id,
  label: domain,
});

export const ofGroup = ({ id, name }: { id: number; name: string }): Target => ({
  type: 'group',
  id,
  label: name,
});

export const ofConnection = ({ id, name }: { id: number; name: string }): Target => ({
  type: 'connection',
  id,
  label: name,
});

export const ofDomain = ({ id, domain }: { id: number; domain: string }): Target => ({
  type: 'domain',
  id,
  label: domain,
});

export const ofServiceAccount = ({ id, name }: { id: number; name: string }): Target => ({
  type: 'service-account',
  id,
  label: name,
});

export const ofInvitation = ({ id, email }: Person): Target => ({ type: 'invitation', id, label: email });

export type AuditEvent = Happening<AuditAction> & {
  /** Null for anonymous callers and for the service. */
  actor: Person | null;
  target: Target;
  /** The clients that the change concerns. Users who may `read-audit` in one of them see the entry. */
  clients?: readonly number[];
  /** Whether the actor does not belong to the clients: then the entry has no network address. */
  isForeign?: boolean;
};

/**
 * One of these actions, with details of the change. Details contain only names and numbers: never a password, token or link, nor a value
 * derived from one.
 */
export type Happening<Action extends AuditAction> = {
  [A in Action]: { action: A; details?: DetailsOf<A> };
}[Action];

/** The fields that are common to events in which people change their own account. */
export const ofOneself = (user: Person & { clientIds: readonly number[] }) => ({
  actor: user,
  target: ofUser(user),
  clients: user.clientIds,
});

export type Audit = {
  record: (tx: Em, events: readonly AuditEvent[]) => Promise<void>;
  /** Adds these details to all events. */
  withDetails: (details: Record<string, unknown>) => Audit;
};

/** A transaction of a unit of work, its time, and the audit trail that it writes. */
export type Transaction = { tx: Em; now: Date; audit: Audit };

/**
 * Writes the audit trail. Its entries are also events for listeners. Entries are written in the same transaction as the change that they
 * record. If a person was erased while their request was running, entries get the present label of the account.
 */
export const createAudit = (origin: Origin, clock: Clock, common: Record<string, unknown> = {}): Audit => ({
  record: async (tx, events) => {
    if (events.length === 0) return;
    const rows = events.map(({ action, actor, target, clients = [], isForeign = false, details }) => ({
      action,
      is_foreign: isForeign,
      // The id 0 means the service itself.
      actor_id: actor?.id || null,
      actor_label: actor?.email ?? '',
      target_type: target.type,
      target_id: target.id,
      target_label: target.label,
      clients,
      details: { ...details, ...common },
    }));
    await sql`
      with recorded as (insert into audit_entries
        (occurred_at, request_id, address, action, actor_type, actor_id, actor_label, target_type, target_id, target_label, client_ids, details)
      select ${clock.now()}::timestamptz, ${origin.requestId}::varchar, case when not is_foreign then ${origin.address}::varchar end, action,
        case when actor.email like ${sql.lit(`%@${SERVICE_DOMAIN}`)} then 'service' when actor_id is not null then 'user' end, actor_id, ${labelOf('actor')},
        target_type, target_id, ${labelOf('target')},
        case when action = any(${ACCOUNT_ACTIVITY}::text[]) and case when target_type = 'user' then target.was_shared else actor.was_shared end
          then '{}' else clients end, details
      from json_to_recordset(${JSON.stringify(rows)}::json) as event
          (action text, is_foreign boolean, actor_id int, actor_label text, target_type text, target_id text, target_label text,
            clients int[], details json)
        left join lateral ${accountOf(sql`event.actor_id`)} actor on true
        left join lateral ${accountOf(sql`case when target_type = 'user' then target_id::int end`)} target on true
      returning id),
      queued as (insert into unpublished_events (entry_id) select id from recorded)
      select ${notifyListeners(EVENT_CHANNEL)}, case when exists (select from webhooks where is_active)
        then pg_notify(${WEBHOOK_CHANNEL}, '') end`.execute(kysely(tx));
  },
  withDetails: (details) => createAudit(origin, clock, { ...common, ...details }),
});

/** With a limit, the account of each event is looked up by its id: without, PostgreSQL expects a hundred events, and reads all users. */
const accountOf = (id: RawBuilder<unknown>) =>
  sql`(select email, was_shared from users where id = ${id} limit 1)`;

const labelOf = (role: 'actor' | 'target') => sql`
  case when ${sql.ref(`${role}.email`)} like ${sql.lit(`%@${ERASED_DOMAIN}`)}
    then ${sql.ref(`${role}.email`)} else ${sql.ref(`event.${role}_label`)} end`;

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
