import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession, requireUserAdmin, type TargetRoles } from '../access/actor.ts';
import { lockUser } from '../accounts/user-locks.ts';
import { type Audit, ofUser } from '../audit/audit.ts';
import { enqueueNotice } from '../outbox/enqueue-mails.ts';
import { lackOf, readFactorState } from '../policies/factor-policy.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { hasSecondFactor } from './credentials.ts';
import { changeOwnFactors, FACTOR_MAILS, recordOwn } from './factor-enrolment.ts';
import { replaceRecoveryCodes } from './one-time-codes.ts';

const OWN_FACTORS = { detail: 'Remove your own second factors with DELETE /api/v1/mfa/{id}/.' };

/** The actor's second factors, and the reset of other users' factors. */
export const createSecondFactors = (unit: UnitOfWork) => {
  const { em, clock, audit, origin, staffSecondFactor } = unit;

  return {
    /** The actor's second factors, and how many of their recovery codes are unused. */
    list: (actor: Actor) => readFactors(em, actor.id),

    /**
     * Whether the actor has a second factor; from when on they need one that they lack, and whether that is a passkey; and whether one is
     * recommended.
     */
    status: async (actor: Actor) => {
      const { is_recommended, ...state } = await readFactorState(em, actor.id, staffSecondFactor);
      const isSetUp = state.enrolled > 0;
      return { is_set_up: isSetUp, ...lackOf(state), is_recommended: !isSetUp && is_recommended };
    },

    /**
     * Renames a second factor of the actor.
     * @throws Problem `not-found`
     */
    rename: (actor: Actor, id: number, name: string): Promise<Factor> =>
      em.transactional(async (tx) => {
        const renamed = await kysely(tx)
          .updateTable('mfa_factors')
          .set({ name })
          .where('user_id', '=', actor.id)
          .where('id', '=', id)
          .where('confirmed_at', 'is not', null)
          .returning(['id', 'kind', 'name', 'last_used_at', CONFIRMED_AT])
          .executeTakeFirstOrThrow(() => notFound('second factor'));
        await recordOwn(unit, tx, actor, { action: 'mfa.rename', details: { id } });
        return renamed;
      }),

    /**
     * Removes a second factor of the actor; with the last one, the recovery codes.
     * @throws Problem `reauthentication-required`, `not-found`
     */
    remove: (actor: Actor, id: number): Promise<void> =>
      changeOwnFactors(unit, actor, async (tx, { now }) => {
        const { kind } = await kysely(tx)
          .deleteFrom('mfa_factors')
          .where('user_id', '=', actor.id)
          .where('id', '=', id)
          .where('confirmed_at', 'is not', null)
          .returning('kind')
          .executeTakeFirstOrThrow(() => notFound('second factor'));
        if (!(await hasSecondFactor(tx, actor.id))) await deleteFactors(tx, actor.id);
        const notice = { userId: actor.id, now, address: origin.address };
        await enqueueNotice(tx, FACTOR_MAILS[kind].removed, notice);
        await recordOwn(unit, tx, actor, { action: 'mfa.remove', details: { id, kind } });
      }),

    /**
     * Replaces the actor's recovery codes by ten new ones.
     * @throws Problem `reauthentication-required`, `not-found` without a second factor
     */
    renewRecoveryCodes: (actor: Actor): Promise<string[]> =>
      changeOwnFactors(unit, actor, async (tx, { isFirst }) => {
        if (isFirst) throw notFound('second factor');
        await recordOwn(unit, tx, actor, { action: 'mfa.renew-recovery-codes' });
        return replaceRecoveryCodes(tx, actor.id);
      }),

    /**
     * Removes all second factors and recovery codes of another user, who has lost them, and ends their sessions.
     * @throws Problem `reauthentication-required`, `not-found`, `forbidden`, `shared-user`, `self-modification`
     */
    reset: (actor: Actor, email: string, reason: string): Promise<void> =>
      em.transactional(async (tx) => {
        requireConfirmedSession(actor, clock.now());
        const { user, clientIds } = await lockUser(tx, actor, email, requireResettable);
        const owner = { id: user.id, email: user.email, clientIds };
        await resetFactors({ tx, audit, now: clock.now() }, actor, owner, reason);
      }),
  };
};

/** Not null for confirmed factors. */
const CONFIRMED_AT = sql<Date>`coalesce(confirmed_at, created_at)`.as('confirmed_at');

type Factor = Awaited<ReturnType<typeof readFactors>>['factors'][number];

const requireResettable = (actor: Actor, user: TargetRoles): void => {
  if (user.id === actor.id) throw new Problem('self-modification', OWN_FACTORS);
  requireUserAdmin(actor, user);
};

/** The confirmed second factors of a user, oldest first, and the number of unused recovery codes. */
export const readFactors = async (em: Em, userId: number) => {
  const db = kysely(em);
  const factors = await db
    .selectFrom('mfa_factors')
    .select(['id', 'kind', 'name', 'last_used_at', CONFIRMED_AT])
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
    .orderBy('id')
    .execute();
  const codes = db.selectFrom('recovery_codes').where('user_id', '=', userId).where('used_at', 'is', null);
  const { unused } = await codes
    .select(({ fn }) => fn.countAll<number>().as('unused'))
    .executeTakeFirstOrThrow();
  return { factors, recovery_codes: unused };
};

/**
 * Removes the second factors of a locked user, ends the user's sessions, which a thief of a factor may have opened, and informs the user.
 * Tokens stay, because scripts use them, but cannot change second factors until they are confirmed again.
 * @param actor null for an operator at the command line
 * @throws Problem `not-found` without a second factor
 */
export const resetFactors = async (
  { tx, audit, now }: { tx: Em; audit: Audit; now: Date },
  actor: Actor | null,
  owner: Pick<TargetRoles, 'id' | 'email' | 'clientIds'>,
  reason: string,
): Promise<void> => {
  const { id, clientIds: clients } = owner;
  if (!(await hasSecondFactor(tx, id))) throw notFound('second factor');
  await deleteFactors(tx, id);
  const db = kysely(tx);
  await db.deleteFrom('sessions').where('user_id', '=', id).execute();
  await db.updateTable('api_tokens').set({ authenticated_at: null }).where('user_id', '=', id).execute();
  await enqueueNotice(tx, 'second-factor-reset', { userId: id, now, address: null });
  const details = reason === '' ? {} : { reason };
  await audit.record(tx, [{ action: 'mfa.reset', actor, target: ofUser(owner), clients, details }]);
};

/** Deletes all second factors and recovery codes of a user, and the logins that wait for a second factor. */
export const deleteFactors = async (tx: Em, userId: number): Promise<void> => {
  for (const table of ['mfa_factors', 'recovery_codes', 'login_challenges'] as const)
    await kysely(tx).deleteFrom(table).where('user_id', '=', userId).execute();
};
