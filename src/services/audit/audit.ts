import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type CompiledQuery, sql } from 'kysely';
import { prepared, tables } from '../../db/kysely.ts';
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
    const columns = columnsOf(events, common);
    // Many events have the same actor.
    const emails = new Set([...columns.actors, ...columns.targets]);
    const digests = new Map([...emails].map((email) => [email, digestOf(email)]));
    const digestsOf = (some: readonly string[]) => some.map((email) => digests.get(email) ?? null);
    const ofEmails = { actorDigests: digestsOf(columns.actors), targetDigests: digestsOf(columns.targets) };
    return [INSERT_EVENTS.bound(em, { now: clock.now(), ...origin, ...columns, ...ofEmails })];
  };
  return {
    statementsOf,
    record: async (tx, events) => {
      for (const statement of statementsOf(tx, events)) await tables(tx).executeQuery(statement);
    },
    withDetails: (details) => createAudit(origin, clock, digestOf, { ...common, ...details }),
  };
};

/** One array per column, with one element per event. */
const columnsOf = (events: readonly AuditEvent[], common: Record<string, unknown>) => ({
  actions: events.map(({ action }) => action),
  actors: events.map(({ actor }) => actor?.email ?? ''),
  targets: events.map(({ target }) => target),
  clients: events.map(({ clients = [] }) => `{${clients.join(',')}}`),
  details: events.map(({ details = {} }) => JSON.stringify({ ...details, ...common })),
});

type InsertedEvents = ReturnType<typeof columnsOf> &
  Origin & { now: Date; actorDigests: (string | null)[]; targetDigests: (string | null)[] };

const INSERT_EVENTS = prepared((db, to: InsertedEvents) => ({
  compile: () =>
    sql`
      insert into audit_entries
        (occurred_at, request_id, address, action, actor_email, target, client_ids, details)
      select ${to.now}::timestamptz, ${to.requestId}::varchar, ${to.address}::varchar, action,
        coalesce(case when has_erasures then pseudonym_of(actor_email, actor_digest, null) end, actor_email),
        coalesce(case when has_erasures then pseudonym_of(target, target_digest, null) end, target),
        client_ids::int[], details
      from (select exists (select from erasures)) as erased (has_erasures),
        unnest(${to.actions}::varchar[], ${to.actors}::varchar[], ${to.targets}::varchar[], ${to.clients}::text[],
          ${to.details}::json[], ${to.actorDigests}::varchar[], ${to.targetDigests}::varchar[])
        as event (action, actor_email, target, client_ids, details, actor_digest, target_digest)`.compile(db),
}));

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

export const isEmpty = (changes: Changes): boolean => Object.keys(changes).length === 0;

const truncate = (value: unknown): unknown =>
  typeof value === 'string' && value.length > MAX_TEXT_LENGTH
    ? `${value.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…`
    : value;
