import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../access/actor.ts';
import type { Audit } from '../audit/audit.ts';
import { readUpdateContext } from './update-context.ts';
import { planUpdate, requireUpdatable, type UserChanges, WRITE_USER } from './update-plan.ts';
import { deactivateUser, lockUser, lockVisibleUser } from './user-locks.ts';
import type { UserRow } from './user-rows.ts';

type Deps = { tx: SqlEntityManager; now: Date; audit: Audit };

/**
 * Changes a user in four statements: lock, read, write, audit. The result is computed from what was read instead of being
 * read again, and the write is one statement instead of a flush of entities, because clients update users in bulk.
 * `is_active` takes further locks and statements.
 */
export const updateUser = async (
  { tx, now, audit }: Deps,
  actor: Actor,
  email: string,
  changes: UserChanges,
): Promise<UserRow> => {
  await lockVisibleUser(tx, actor, email);
  const context = await readUpdateContext(tx, actor, email, changes.apps ?? []);
  requireUpdatable(actor, context);
  const access = await changeAccess(tx, actor, email, changes.is_active, now);
  const { after, values, events } = planUpdate(actor, context, changes, access);
  await WRITE_USER(tx, values);
  await audit.record(tx, events);
  return after;
};

/** Activates or deactivates a user if requested, and returns the changed columns. */
const changeAccess = async (
  tx: SqlEntityManager,
  actor: Actor,
  email: string,
  isActive: boolean | undefined,
  now: Date,
) => {
  if (isActive === undefined) return {};
  const locked = await lockUser(tx, actor, email);
  if (isActive) locked.user.activate(now);
  else await deactivateUser(tx, actor, locked, now);
  await tx.flush();
  const { isActive: isActiveNow, lastActivated, lastDeactivated } = locked.user;
  return {
    is_active: isActiveNow,
    last_activated: lastActivated ?? null,
    last_deactivated: lastDeactivated ?? null,
  };
};
