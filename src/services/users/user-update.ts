import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Steps } from '../../db/pipelined-transaction.ts';
import type { Actor } from '../access/actor.ts';
import type { Audit } from '../audit/audit.ts';
import { factsOf, factsStatement, userFacts } from './update-context.ts';
import { outcomeOf, requireUpdatable, type UserChanges, WRITE_USER } from './update-plan.ts';
import { deactivateUser, lockUser, lockVisibleUser, ordinaryUserLock } from './user-locks.ts';
import type { UserRow } from './user-rows.ts';

type Deps = { tx: SqlEntityManager; now: Date; audit: Audit };

/**
 * Changes a user, in four statements where their access stays: lock, read, write, audit. What the user is then is known
 * from what they were.
 */
export const updateUser = async (
  { tx, now, audit }: Deps,
  actor: Actor,
  email: string,
  changes: UserChanges,
): Promise<UserRow> => {
  await lockVisibleUser(tx, actor, email);
  const facts = await userFacts(tx, actor, email, changes.apps ?? []);
  requireUpdatable(actor, facts);
  const access = await switchAccess(tx, actor, email, changes.is_active, now);
  const { after, written, events } = outcomeOf(actor, facts, changes, access);
  await WRITE_USER(tx, written);
  await audit.record(tx, events);
  return after;
};

type StepDeps = { em: SqlEntityManager; steps: Steps; audit: Audit };

/**
 * The same in two exchanges with the database, for a user whose access stays. Null when there is no such user, or when it is
 * a superuser, whose locks have an order: `updateUser` knows what to do about them.
 */
export const updateOrdinaryUser = async (
  { em, steps, audit }: StepDeps,
  actor: Actor,
  email: string,
  changes: Omit<UserChanges, 'is_active'>,
): Promise<UserRow | null> => {
  const lock = ordinaryUserLock(em, actor, email);
  const [[locked], [found]] = await steps.send([lock, factsStatement(em, actor, email, changes.apps ?? [])]);
  if (!locked || !found) return null;
  const facts = factsOf(found);
  requireUpdatable(actor, facts);
  const { after, written, events } = outcomeOf(actor, facts, changes);
  await steps.sendLast([WRITE_USER.bound(em, written), ...audit.statements(em, events)]);
  return after;
};

/** Lets a user in or out, if that was asked for, and answers what they are then. */
const switchAccess = async (
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
  const { isActive: is, lastActivated, lastDeactivated } = locked.user;
  return {
    is_active: is,
    last_activated: lastActivated ?? null,
    last_deactivated: lastDeactivated ?? null,
  };
};
