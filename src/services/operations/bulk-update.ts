import { sql } from 'kysely';
import { isDuplicateOf } from '../../db/database-errors.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { countRows } from '../../db/pagination.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import { type Actor, requireUserUpdatable } from '../access/actor.ts';
import { clientVisibleTo, isPerson } from '../access/visibility.ts';
import { findUserId } from '../accounts/addresses.ts';
import { lockUser } from '../accounts/user-locks.ts';
import { requireValidValues } from '../attributes/stated-values.ts';
import { ofUser, type Transaction } from '../audit/audit.ts';
import {
  CHANGED_ONCE,
  findDone,
  readOperation,
  recordChanges,
  startOperation,
} from '../audit/operation-log.ts';
import { type RowProblem, rowProblemOf, withCurrentActor } from '../auth/bulk-rows.ts';
import { readManagedClient } from '../clients/clients.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import { findPending } from '../invitations/invitation-rows.ts';
import { renewInvitation } from '../invitations/invite.ts';
import { isMailed, NEW_MAIL, newMailValues } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { findGrantable, unknownApp } from '../users/app-grants.ts';
import { requireFuture } from '../users/grants.ts';
import { joinGroups, lockGroups, requireGroups } from '../users/group-joining.ts';
import { setAttribute } from '../users/member-attributes.ts';
import { offboardUser } from '../users/offboarding.ts';
import { type UserChanges, updateUser } from '../users/user-update.ts';
import { type Listing, listingQuery } from '../users/users.ts';

export const BULK_ACTIONS = [
  'grant-apps',
  'revoke-apps',
  'add-to-groups',
  'deactivate',
  'reactivate',
  'offboard',
  'set-attribute',
  'send-password-link',
] as const;

/**
 * `groups`: ids. `expires_at`: the end of new grants, in ISO 8601. `reason`: the reason for new grants. `client`: in which `attribute` gets
 * `value`; without a value, it is removed. For `deactivate`, `reactivate` and `offboard`: limits these to the membership in this client.
 */
type BulkChange = {
  action: (typeof BULK_ACTIONS)[number];
  apps: string[];
  groups?: number[];
  expires_at?: string;
  reason?: string;
  client?: number;
  attribute?: string;
  value?: unknown;
};

/** Either addresses, or a filter and the address after which its next part starts. */
type Selection =
  | { emails: string[] }
  | { filter: Omit<Listing, 'cursor' | 'sort'>; cursor: string | undefined };

export type BulkRequest = { selection: Selection; change: BulkChange; operation: string | undefined };

type RowResult = {
  email: string;
  status: 'ok' | 'unchanged' | 'failed';
  problem: RowProblem | null;
};

export type BulkResult = {
  operation: string;
  /** ISO 8601, because stored responses are plain JSON. Null if the change cannot be undone. */
  undo_until: string | null;
  results: RowResult[];
  /** Null after the last part of a filter. */
  next_cursor: string | null;
};

/** The users of a request. A repeat of the request changes the same users, even if they no longer match its filter. */
type Plan = Pick<BulkResult, 'operation' | 'undo_until' | 'next_cursor'> & { emails: string[] };

/** Limit of users per request. */
export const MAX_BULK_USERS = 1_000;

/** Changes many users, each in a separate transaction, so that locks are held only briefly. */
export const createBulkUpdates = (unit: UnitOfWork) => {
  const { em, clock, audit, idempotency } = unit;

  const openPlan = async (tx: Em, actor: Actor, request: BulkRequest): Promise<Plan> => {
    const { selection, change } = request;
    if (change.expires_at !== undefined)
      requireFuture({ expires_at: new Date(change.expires_at) }, clock.now());
    await requireGrantable(tx, actor, change);
    await requireGroups(tx, actor, change.groups ?? []);
    if (change.client !== undefined) await readManagedClient(tx, actor, change.client, 'manage-people');
    if (change.action === 'set-attribute') await requireAttribute(tx, change);
    const { emails, next } = await selectUsers(tx, actor, selection, clock.now());
    const { id, undoUntil } = await openOperation(tx, actor, request, clock.now());
    const undo_until = change.action === 'send-password-link' ? null : undoUntil.toISOString();
    return { operation: id, undo_until, emails, next_cursor: next };
  };

  /** Skips the users whom an earlier run has changed. Another instance may run the same plan at the same time. */
  const updateUsers = async (actor: Actor, change: BulkChange, plan: Plan): Promise<BulkResult> => {
    const { emails, ...operation } = plan;
    const done = await findDone(em, actor, plan.operation, emails);
    const tagged = { ...unit, audit: audit.withDetails({ operation: plan.operation }) };
    const what = { operationId: plan.operation, change };
    const outcomes = new Map<string, RowResult>();
    const rest = emails.filter((email) => !done.has(email));
    for await (const [current, email] of withCurrentActor(em, actor, rest))
      outcomes.set(email, await resultOf(email, () => changeUser(tagged, current, email, what)));
    // Includes users whom another instance has changed.
    for (const email of await findDone(em, actor, plan.operation, emails))
      outcomes.set(email, changed(email));
    return { ...operation, results: emails.map((email) => outcomes.get(email) ?? changed(email)) };
  };

  return {
    /**
     * Changes up to `MAX_BULK_USERS` users. With an idempotency key, a repeat after a crash continues the operation, and
     * returns the results of all users.
     * @throws Problem `invalid-input` on `apps`, `groups`, `expires_at`, `cursor`; `not-found`, `forbidden` of the client; `not-found`,
     * `undo-expired` of the operation to continue
     */
    update: (actor: Actor, input: BulkRequest, idempotencyKey: IdempotencyKey | null): Promise<BulkResult> =>
      idempotency.runPlan(
        { actor, idempotencyKey, operation: 'users.bulkUpdate', input },
        (tx) => openPlan(tx, actor, input),
        (plan) => updateUsers(actor, input.change, plan),
      ),
  };
};

/** Rejects the whole request instead of each row. */
const requireGrantable = async (em: Em, actor: Actor, { apps }: BulkChange): Promise<void> => {
  const { unknown } = await findGrantable(em, actor, apps);
  if (unknown.length > 0) throw invalid({ apps: unknown.map(unknownApp) });
};

/** @throws Problem `invalid-input` on `attributes` */
const requireAttribute = async (em: Em, { client = 0, attribute = '', value }: BulkChange) => {
  if (value !== undefined)
    await requireValidValues(em, { clientId: client, appId: null }, { [attribute]: value });
};

const selectUsers = async (em: Em, actor: Actor, selection: Selection, now: Date) => {
  if ('emails' in selection) return { emails: [...new Set(selection.emails)], next: null };
  const { users } = await listingQuery(em, actor, { ...selection.filter, cursor: selection.cursor }, now);
  const rows = await users
    .clearSelect()
    .select('users.email')
    .where(isPerson)
    .limit(MAX_BULK_USERS + 1)
    .execute();
  const emails = rows.slice(0, MAX_BULK_USERS).map(({ email }) => email);
  return { emails, next: rows.length > MAX_BULK_USERS ? (emails.at(-1) ?? null) : null };
};

const openOperation = async (em: Em, actor: Actor, { change, operation }: BulkRequest, now: Date) => {
  const text = JSON.stringify(change);
  if (operation === undefined) return em.transactional((tx) => startOperation(tx, actor, text, now));
  const found = await readOperation(em, actor, operation, now);
  if (found.change !== text) throw invalid({ operation: ['Belongs to another change.'] });
  return found;
};

const changed = (email: string): RowResult => ({ email, status: 'ok', problem: null });

const resultOf = async (email: string, change: () => Promise<boolean>): Promise<RowResult> => {
  try {
    return { email, status: (await change()) ? 'ok' : 'unchanged', problem: null };
  } catch (error) {
    // Another instance has just changed this user for the same request.
    if (isDuplicateOf(error, CHANGED_ONCE)) return changed(email);
    return { email, status: 'failed', problem: rowProblemOf(error) };
  }
};

/** Returns whether the user was changed. */
const changeUser = async (
  unit: UnitOfWork,
  actor: Actor,
  email: string,
  { operationId, change }: { operationId: string; change: BulkChange },
): Promise<boolean> => {
  // A fork, because a flush compares all entities that its entity manager has read.
  const em = unit.em.fork();
  const { action } = change;
  if (action === 'send-password-link') return sendPasswordLink({ ...unit, em }, actor, email, operationId);
  return em.transactional(async (tx) => {
    const deps = { tx, now: unit.clock.now(), audit: unit.audit };
    const { isChanged, undoable } = await applyChange(deps, actor, email, { ...change, action });
    await recordChanges(tx, operationId, [undoable], deps.now);
    return isChanged;
  });
};

type UserChange = BulkChange & { action: Exclude<BulkChange['action'], 'send-password-link'> };

const applyChange = (deps: Transaction, actor: Actor, email: string, change: UserChange) => {
  const { action, apps, groups = [], client } = change;
  const update = (changes: UserChanges) => updateUser(deps, actor, email, changes);
  switch (action) {
    case 'grant-apps':
      return update({ grant: apps, terms: termsOf(actor, change, deps.now) });
    case 'revoke-apps':
      return update({ revoke: apps });
    case 'deactivate':
    case 'reactivate':
      return update({
        is_active: action === 'reactivate',
        members_of: client === undefined ? undefined : [client],
      });
    case 'add-to-groups':
      return addToGroups(deps, actor, email, groups);
    case 'offboard':
      return offboardUser(deps, actor, email, client);
    case 'set-attribute':
      return changeAttribute(deps, actor, email, change);
  }
};

const NOTHING_ELSE = { granted: [], revoked: [], joined: [], isActive: null, membersOf: [] };

const changeAttribute = async (
  deps: Transaction,
  actor: Actor,
  email: string,
  { client = 0, attribute: key = '', value }: BulkChange,
) => {
  const { isChanged, userId, parts } = await setAttribute(deps, actor, email, { client, key, value });
  return { isChanged, undoable: { ...NOTHING_ELSE, userId, ended: parts } };
};

const addToGroups = async (deps: Transaction, actor: Actor, email: string, ids: readonly number[]) => {
  const found = await lockGroups(deps.tx, actor, ids);
  const user = await lockUser(deps.tx, actor, email, requireUserUpdatable);
  const groups = await joinGroups(deps, actor, user, found);
  return { isChanged: groups.length > 0, undoable: { ...NOTHING_ELSE, userId: user.id, groups } };
};

/** Undefined without an end and a reason: then `changeAccess` uses its default terms. */
const termsOf = (actor: Actor, { apps, expires_at, reason = '' }: BulkChange, now: Date) => {
  if (expires_at === undefined && reason === '') return undefined;
  const end = { expires_at: expires_at ?? null, reason };
  const terms = { granted_by: actor.id, granted_at: now.toISOString(), ...end };
  return Object.fromEntries(apps.map((id) => [id, terms]));
};

/** Limit of password mails per hour to one address that admins may cause. */
const MAILS_PER_HOUR = 5;
const RETRY_AFTER_SECONDS = 3_600;

/**
 * Mails a link to set the first or a new password, once per operation. For an address without an account, sends its invitation again.
 * @throws Problem `not-found`, `forbidden`, `account-inactive`, `ambiguous-invitation`, `throttled`
 */
const sendPasswordLink = async (unit: UnitOfWork, actor: Actor, email: string, operationId: string) => {
  const { em, clock } = unit;
  if (await isInvited(em, actor, email)) {
    const { id } = await findPending(em, actor, { email, client: undefined, now: clock.now() });
    await em.transactional((tx) => renewInvitation(tx, unit, actor, id, operationId));
  } else await em.transactional((tx) => enqueuePasswordLink({ ...unit, em: tx }, actor, email, operationId));
  return true;
};

/** Whether the actor sees no user with this address, but may see a pending invitation. */
const isInvited = async (em: Em, actor: Actor, email: string): Promise<boolean> => {
  if ((await findUserId(em, actor, email)) !== undefined) return false;
  const invitation = kysely(em).selectFrom('invitations').select('id').where('status', '=', 'pending');
  const visible = invitation.where('email', '=', email).where(clientVisibleTo(actor, sql`client_id`));
  return (await visible.executeTakeFirst()) !== undefined;
};

const enqueuePasswordLink = async (
  { em: tx, clock, audit }: UnitOfWork,
  actor: Actor,
  email: string,
  operationId: string,
) => {
  const { user, clientIds: clients } = await lockUser(tx, actor, email);
  if (!user.isActive) throw new Problem('account-inactive');
  if (await isMailed(tx, operationId, { recipient: email })) return;
  const now = clock.now();
  await requireFewMails(tx, actor, email, now);
  const { rows } = await sql<{ kind: string }>`
    insert into outbox_mails (kind, recipient, user_id, operation_id, ${NEW_MAIL})
    select kind, email, case kind when 'password-setup' then id end, ${operationId}, ${newMailValues(now)}
    from (select *, case when password_hash is null then 'password-setup' else 'password-reset' end as kind
      from users where id = ${user.id}::int) as person
    returning kind`.execute(kysely(tx));
  const details = { kind: rows[0]?.kind };
  await audit.record(tx, [
    { action: 'password.request-reset', actor, target: ofUser(user), clients, details },
  ]);
};

/**
 * Counts only the mails of the actor: the number of all mails would reveal that the person also belongs to another client.
 * @throws Problem `throttled`
 */
const requireFewMails = async (tx: Em, actor: Actor, email: string, now: Date): Promise<void> => {
  const mails = kysely(tx)
    .selectFrom('outbox_mails')
    .where(condition`kind in ('password-setup', 'password-reset')`)
    .where(condition`operation_id in (select id from operations where user_id = ${actor.id})`)
    .where('recipient', '=', email)
    .where('created_at', '>', new Date(now.getTime() - HOUR_MS));
  if ((await countRows(mails)) < MAILS_PER_HOUR) return;
  const detail = `${email} was mailed ${MAILS_PER_HOUR} password links within an hour. Try again in an hour.`;
  throw new Problem('throttled', { detail, retryAfterSeconds: RETRY_AFTER_SECONDS });
};
