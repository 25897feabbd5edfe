import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type CompiledQuery, sql } from 'kysely';
import { runStatements, tables } from '../../db/kysely.ts';
import type { Clock } from '../../lib/clock.ts';
import { type AddressDigest, NO_DIGEST } from '../data-rights/erasure-keys.ts';

/** Every action that the audit trail records: `{noun}.{verb}`. */
export const AUDIT_ACTIONS = [
  'access-view.create',
  'access-view.deactivate',
  'access-view.update',
  'access-view.use',
  'app.clear-cache',
  'app.fetch-package',
  'app.load-package',
  'app.rollback-package',
  'app.update',
  'client.add-admin',
  'client.close',
  'client.create',
  'client.remove-admin',
  'client.reopen',
  'client.update',
  'invitation.accept',
  'invitation.copy-link',
  'invitation.create',
  'invitation.renew',
  'invitation.resend',
  'invitation.revoke',
  'invitation.update',
  'login.expired',
  'login.fail',
  'login.session',
  'login.token',
  'mail.read-link',
  'mail.retry',
  'password.change',
  'password.request-reset',
  'password.reset',
  'request.refused',
  'saved-filter.create',
  'saved-filter.delete',
  'saved-filter.update',
  'session.confirm',
  'session.end',
  'site.create',
  'token.create',
  'token.refresh',
  'token.revoke',
  'signing-key.rotate',
  'ticket.revoke',
  'user.change-apps',
  'user.create',
  'user.deactivate',
  'user.erase',
  'user.export',
  'user.revoke-sessions',
  'user.import',
  'user.make-superuser',
  'user.reactivate',
  'user.update-roles',
  'user.update',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

const MAX_TEXT_LENGTH = 200;

/** The request that caused a change; null for changes by the service or the command line. */
export type Origin = { requestId: string | null; address: string | null };

export const NO_ORIGIN: Origin = { requestId: null, address: null };

export type AuditEvent = {
  action: AuditAction;
  /** Null for anonymous callers and for the service. */
  actor: { email: string } | null;
  /** Email address, slug or domain of the changed resource. */
  target: string;
  /** The clients whose admins may read the entry. */
  clients?: readonly number[];
  /** What changed. Names and numbers only, never a password, token or link, nor a value derived from one. */
  details?: Record<string, unknown>;
};

export type Audit = {
  /** The statement that writes all events; none if there are no events. */
  statementsOf: (em: SqlEntityManager, events: readonly AuditEvent[]) => CompiledQuery[];
  record: (tx: SqlEntityManager, events: readonly AuditEvent[]) => Promise<void>;
  /** Adds these details to all events. */
  withDetails: (details: Record<string, unknown>) => Audit;
};

/**
 * Writes the audit trail. Entries are written in the same transaction as the change that they record. An address that was
 * erased while its request was running, and that has neither an account nor an invitation now, is replaced.
 */
export const createAudit = (
  origin: Origin,
  clock: Clock,
  digestOf: AddressDigest = NO_DIGEST,
  common: Record<string, unknown> = {},
): Audit => {
  const statementsOf: Audit['statementsOf'] = (em, events) => {
    if (events.length === 0) return [];
    return [insertEvents(em, { now: clock.now(), ...origin, ...columnsOf(events, common, digestOf) })];
  };
  return {
    statementsOf,
    record: (tx, events) => runStatements(tx, statementsOf(tx, events)),
    withDetails: (details) => createAudit(origin, clock, digestOf, { ...common, ...details }),
  };
};

/** The target has a pending invitation now, and so keeps its name; see `pseudonym_of`. */
const INVITES: readonly AuditAction[] = ['invitation.create', 'invitation.renew'];

/** A JSON array per column, with one element per event: `pg` allocates 250 bytes for each element of an array. */
const columnsOf = (
  events: readonly AuditEvent[],
  common: Record<string, unknown>,
  digestOf: AddressDigest,
) => {
  const actors = events.map(({ actor }) => actor?.email ?? '');
  const targets = events.flatMap(({ action, target }) => (INVITES.includes(action) ? [] : target));
  // Many events have the same actor.
  const digests = new Map([...new Set([...actors, ...targets])].map((email) => [email, digestOf(email)]));
  return {
    actions: JSON.stringify(events.map(({ action }) => action)),
    actors: JSON.stringify(actors),
    targets: JSON.stringify(events.map(({ target }) => target)),
    clients: JSON.stringify(events.map(({ clients = [] }) => `{${clients.join(',')}}`)),
    details: JSON.stringify(events.map(({ details = {} }) => JSON.stringify({ ...details, ...common }))),
    actorDigests: JSON.stringify(actors.map((email) => digests.get(email) ?? null)),
    targetDigests: JSON.stringify(events.map(({ target }) => digests.get(target) ?? null)),
  };
};

type InsertedEvents = ReturnType<typeof columnsOf> & Origin & { now: Date };

const insertEvents = (em: SqlEntityManager, to: InsertedEvents) => {
  const column = (json: string) => sql`json_array_elements_text(${json}::json)`;
  return sql`
      insert into audit_entries
        (occurred_at, request_id, address, action, actor_email, target, client_ids, details)
      select ${to.now}::timestamptz, ${to.requestId}::varchar, ${to.address}::varchar, action,
        coalesce(case when has_erasures then pseudonym_of(actor_email, actor_digest, null) end, actor_email),
        coalesce(case when has_erasures then pseudonym_of(target, target_digest, null) end, target),
        client_ids::int[], details::json
      from (select exists (select from erasures)) as erased (has_erasures),
        rows from (${column(to.actions)}, ${column(to.actors)}, ${column(to.targets)}, ${column(to.clients)},
          ${column(to.details)}, ${column(to.actorDigests)}, ${column(to.targetDigests)})
        as event (action, actor_email, target, client_ids, details, actor_digest, target_digest)`.compile(
    tables(em),
  );
};

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
