import { isDuplicateOf } from '../../db/database-errors.ts';
import type { Db } from '../../db/kysely.ts';
import { invalid } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { isNotErased } from '../access/visibility.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { Unit } from '../unit.ts';
import { findGrantable, unknownApp } from '../users/app-grants.ts';
import type { UserChanges } from '../users/update-plan.ts';
import { findUsers, type Listing } from '../users/user-listing.ts';
import { updateInTransaction } from '../users/user-update.ts';
import { createCurrentActor } from './current-actor.ts';
import { CHANGED_ONCE, changeStatements, findDone, readOperation, startOperation } from './operation-log.ts';
import { sendPasswordLink } from './password-link-mails.ts';
import { type RowProblem, rowProblemOf } from './row-results.ts';

export const BULK_ACTIONS = [
  'grant-apps',
  'revoke-apps',
  'deactivate',
  'reactivate',
  'send-password-link',
] as const;

export type BulkChange = { action: (typeof BULK_ACTIONS)[number]; apps: string[] };

/** Either addresses, or a filter and the address after which its next part starts. */
export type Selection =
  | { emails: string[] }
  | { filter: Omit<Listing, 'cursor' | 'sort'>; cursor: string | undefined };

export type BulkRequest = { selection: Selection; change: BulkChange; operation: string | undefined };

export type RowResult = {
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

/** The users of a request. A repeat of the request changes the same ones, even if they no longer match its filter. */
type Plan = Pick<BulkResult, 'operation' | 'undo_until' | 'next_cursor'> & { emails: string[] };

/** Users of one request. */
export const MAX_BULK_USERS = 1_000;

/** Changes many users, each in a separate transaction, so that locks are held only briefly. */
export const createBulkUpdates = (unit: Unit) => {
  const { em, clock, audit, idempotency } = unit;

  const openPlan = async (tx: Db, actor: Actor, request: BulkRequest): Promise<Plan> => {
    const { selection, change } = request;
    await requireGrantable(tx, actor, change);
    const { emails, next } = await selectUsers(tx, actor, selection, clock.now());
    const { id, undoUntil } = await openOperation(tx, actor, request, clock.now());
    const undo_until = change.action === 'send-password-link' ? null : undoUntil.toISOString();
    return { operation: id, undo_until, emails, next_cursor: next };
  };

  /** Skips the users whom an earlier run has changed. Another instance may run the same plan at the same time. */
  const updateUsers = async (actor: Actor, change: BulkChange, plan: Plan): Promise<BulkResult> => {
    const { emails, ...operation } = plan;
    const done = await findDone(em, plan.operation, emails);
    const changeUser = createRowUpdate(
      { ...unit, audit: audit.withDetails({ operation: plan.operation }) },
      plan.operation,
      change,
    );
    const outcomes = new Map<string, RowResult>();
    const currentActor = createCurrentActor(em, actor);
    for (const [index, email] of emails.filter((address) => !done.has(address)).entries()) {
      const current = await currentActor(index);
      outcomes.set(email, await resultOf(email, () => changeUser(current, email)));
    }
    // Also those whom another instance has changed.
    for (const email of await findDone(em, plan.operation, emails)) outcomes.set(email, changed(email));
    return { ...operation, results: emails.map((email) => outcomes.get(email) ?? changed(email)) };
  };

  return {
    /**
     * Changes up to `MAX_BULK_USERS` users. With an idempotency key, a repeat after a crash continues the operation, and
     * returns the results of all users.
     * @throws Problem `invalid-input` on `apps`, `cursor`; `not-found`, `undo-expired` of the operation to continue
     */
    update: (
      actor: Actor,
      request: BulkRequest,
      idempotencyKey: IdempotencyKey | null,
    ): Promise<BulkResult> => {
      const input = JSON.stringify(request);
      const once = idempotencyKey && { idempotencyKey, operation: 'users.bulkUpdate', input };
      return idempotency.runPlan(
        actor,
        once,
        (tx) => openPlan(tx, actor, request),
        (plan) => updateUsers(actor, request.change, plan),
      );
    },
  };
};

/** Rejects the whole request instead of each row. */
const requireGrantable = async (em: Db, actor: Actor, { apps }: BulkChange): Promise<void> => {
  const { unknown } = await findGrantable(em, actor, apps);
  if (unknown.length > 0) throw invalid({ apps: unknown.map(unknownApp) });
};

const selectUsers = async (em: Db, actor: Actor, selection: Selection, now: Date) => {
  if ('emails' in selection) return { emails: [...new Set(selection.emails)], next: null };
  const { users } = await findUsers(em, actor, { ...selection.filter, cursor: selection.cursor }, now);
  const rows = await users
    .clearSelect()
    .select('users.email')
    .where(isNotErased)
    .limit(MAX_BULK_USERS + 1)
    .execute();
  const emails = rows.slice(0, MAX_BULK_USERS).map(({ email }) => email);
  return { emails, next: rows.length > MAX_BULK_USERS ? (emails.at(-1) ?? null) : null };
};

const openOperation = async (em: Db, actor: Actor, { change, operation }: BulkRequest, now: Date) => {
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
const createRowUpdate = (unit: Unit, operationId: string, { action, apps }: BulkChange) => {
  const changes: Record<Exclude<BulkChange['action'], 'send-password-link'>, UserChanges> = {
    'grant-apps': { grant: apps },
    'revoke-apps': { revoke: apps },
    deactivate: { is_active: false },
    reactivate: { is_active: true },
  };
  return async (actor: Actor, email: string): Promise<boolean> => {
    // A flush compares all entities that its entity manager has read.
    const row = { ...unit, em: unit.em.fork() };
    if (action === 'send-password-link') return sendPasswordLink(row, actor, email, operationId);
    const { events } = await updateInTransaction(row, actor, email, changes[action], (em, plan) =>
      changeStatements(em, operationId, plan, unit.clock.now()),
    );
    return events.length > 0;
  };
};
