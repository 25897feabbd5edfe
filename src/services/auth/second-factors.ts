import { sql } from 'kysely';
import { clientIdsOf, type Em, kysely } from '../../db/kysely.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import {
  type Actor,
  requireConfirmation,
  requireRecentPassword,
  requireUserAdmin,
  type TargetRoles,
} from '../access/actor.ts';
import { isOutsideSharedTime, type Viewer } from '../access/visibility.ts';
import type { Audit } from '../audit/audit.ts';
import { findClientByHost } from '../clients/sites.ts';
import { enqueueFactorNotice } from '../mail/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { lockActiveUser, lockUser } from '../users/user-locks.ts';
import { hasSecondFactor } from './credentials.ts';
import { deleteRecoveryCodes, replaceRecoveryCodes } from './factor-codes.ts';
import { deleteChallenges } from './login-challenges.ts';
import { addMethods, BY_CODE } from './methods.ts';
import { matchTotpStep, newTotpSecret, otpauthUrl } from './totp.ts';

const MAX_FACTORS = 5;

/** Time to scan the QR code and to enter the first code. */
export const ENROLMENT_MS = HOUR_MS;

const SERVICE_NAME = 'Steward';

const NOT_STARTED = {
  detail: 'No second factor waits for its first code. Start again with POST /api/v1/mfa/totp/.',
};

const OWN_FACTORS = { detail: 'Remove your own second factors with DELETE /api/v1/mfa/{id}/.' };

/** Second factors of the actor, and their reset by others. */
export const createSecondFactors = ({ em, clock, audit, origin, factorSecrets }: UnitOfWork) => {
  /**
   * Runs a change of the actor's own factors. Changes of one user run one after another. A token of a user who has a factor must be
   * confirmed, or one that was stolen could remove it, or add another one.
   */
  const change = <T>(actor: Actor, work: (tx: Em, now: Date, isFirst: boolean) => Promise<T>): Promise<T> =>
    em.transactional(async (tx) => {
      requireRecentPassword(actor, clock.now());
      if (!(await lockActiveUser(tx, actor.id))) throw new Problem('unauthenticated');
      const isFirst = !(await hasSecondFactor(tx, actor.id));
      if (!isFirst) requireConfirmation(actor, clock.now());
      return work(tx, clock.now(), isFirst);
    });

  const noticeOf = ({ id }: Actor, now: Date) => ({ userId: id, now, address: origin.address });

  const record = async (tx: Em, actor: Actor, action: OwnAction, details: Record<string, unknown> = {}) =>
    audit.record(tx, [
      { action, actor, target: actor.email, clients: await clientIdsOf(tx, actor.id), details },
    ]);

  return {
    /** The actor's second factors, and how many of their recovery codes are unused. */
    list: (actor: Actor) => readFactors(em, actor.id),

    /**
     * Starts the enrolment of an authenticator app. It counts after `confirmTotp`; another start replaces it.
     * @param host names the client, which the app shows
     * @throws Problem `reauthentication-required`, `invalid-input` on `name`
     */
    startTotp: (actor: Actor, name: string, host: string) =>
      change(actor, async (tx, now) => {
        const confirmed = kysely(tx).selectFrom('mfa_factors').select('id').where('user_id', '=', actor.id);
        if ((await confirmed.where('confirmed_at', 'is not', null).execute()).length >= MAX_FACTORS)
          throw invalid({ name: [`You already have ${MAX_FACTORS} second factors. Remove one first.`] });
        const secret = await newTotpSecret();
        await deleteUnconfirmed(tx, actor.id);
        const sealed_secret = factorSecrets.seal(actor.id, secret);
        await kysely(tx)
          .insertInto('mfa_factors')
          .values({ user_id: actor.id, kind: 'totp', name, sealed_secret, created_at: now })
          .execute();
        const { client_name } = await findClientByHost(tx, host).catch(() => ({ client_name: SERVICE_NAME }));
        return { secret, otpauth_url: await otpauthUrl(client_name, actor.email, secret) };
      }),

    /**
     * Confirms the started enrolment by a code of the app. Other sessions of the actor then have to be confirmed with a code.
     * @returns ten recovery codes with the first factor, else none
     * @throws Problem `reauthentication-required`, `not-found`, `invalid-otp`
     */
    confirmTotp: (actor: Actor, code: string): Promise<string[]> =>
      change(actor, async (tx, now, isFirst) => {
        const started = await kysely(tx)
          .selectFrom('mfa_factors')
          .select(['id', 'name', 'sealed_secret'])
          .where('user_id', '=', actor.id)
          .where('confirmed_at', 'is', null)
          .where('created_at', '>', new Date(now.getTime() - ENROLMENT_MS))
          .executeTakeFirstOrThrow(() => new Problem('not-found', NOT_STARTED));
        const secret = factorSecrets.open(actor.id, started.sealed_secret);
        const digits = code.replaceAll(/\s/g, '');
        const step = secret === null ? null : await matchTotpStep(secret, digits, { now, lastStep: null });
        if (step === null) throw new Problem('invalid-otp');
        await kysely(tx)
          .updateTable('mfa_factors')
          .set({ confirmed_at: now, last_step: step })
          .where('id', '=', started.id)
          .execute();
        await recordFirstCode(tx, actor);
        await enqueueFactorNotice(tx, 'second-factor-added', noticeOf(actor, now));
        await record(tx, actor, 'mfa.enroll', { id: started.id, name: started.name });
        return isFirst ? replaceRecoveryCodes(tx, actor.id) : [];
      }),

    /**
     * Removes a second factor of the actor; with the last one, the recovery codes.
     * @throws Problem `reauthentication-required`, `not-found`
     */
    remove: (actor: Actor, id: number): Promise<void> =>
      change(actor, async (tx, now) => {
        const { name } = await kysely(tx)
          .deleteFrom('mfa_factors')
          .where('user_id', '=', actor.id)
          .where('id', '=', id)
          .where('confirmed_at', 'is not', null)
          .returning('name')
          .executeTakeFirstOrThrow(() => notFound('second factor'));
        if (!(await hasSecondFactor(tx, actor.id))) await deleteFactors(tx, actor.id);
        await enqueueFactorNotice(tx, 'second-factor-removed', noticeOf(actor, now));
        await record(tx, actor, 'mfa.remove', { id, name });
      }),

    /**
     * Replaces the actor's recovery codes by ten new ones.
     * @throws Problem `reauthentication-required`, `not-found` without a second factor
     */
    renewRecoveryCodes: (actor: Actor): Promise<string[]> =>
      change(actor, async (tx, _now, isFirst) => {
        if (isFirst) throw notFound('second factor');
        await record(tx, actor, 'mfa.renew-recovery-codes');
        return replaceRecoveryCodes(tx, actor.id);
      }),

    /**
     * Removes all second factors and recovery codes of another user, who has lost them.
     * @throws Problem `reauthentication-required`, `not-found`, `forbidden`, `shared-user`, `self-modification`
     */
    reset: (actor: Actor, email: string, reason: string): Promise<void> =>
      em.transactional(async (tx) => {
        requireRecentPassword(actor, clock.now());
        const { user, clientIds } = await lockUser(tx, actor, email, requireResettable);
        const owner = { id: user.id, email: user.email, clientIds };
        await resetFactors({ tx, audit, now: clock.now() }, actor, owner, reason);
      }),
  };
};

type OwnAction = 'mfa.enroll' | 'mfa.remove' | 'mfa.renew-recovery-codes';

const requireResettable = (actor: Actor, user: TargetRoles): void => {
  if (user.id === actor.id) throw new Problem('self-modification', OWN_FACTORS);
  requireUserAdmin(actor, user);
};

/** The confirmed second factors of a user, oldest first, and how many recovery codes are unused. */
const readFactors = async (em: Em, userId: number) => {
  const db = kysely(em);
  const factors = await db
    .selectFrom('mfa_factors')
    .select(['id', 'kind', 'name', 'last_used_at'])
    .select((row) => row.fn.coalesce('confirmed_at', 'created_at').as('confirmed_at'))
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
    .orderBy('id')
    .execute();
  const { unused } = await db
    .selectFrom('recovery_codes')
    .select((row) => row.fn.countAll<number>().as('unused'))
    .where('user_id', '=', userId)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow();
  return { factors, recovery_codes: unused };
};

/**
 * The second factors of a user as a viewer may see them. Of one that was set up or used while the person belonged to a client that they have
 * left, only that it exists, so that it can be reset.
 */
export const readFactorsFor = async (em: Em, viewer: Viewer, userId: number) => {
  const { factors, recovery_codes } = await readFactors(em, userId);
  const known = await kysely(em)
    .selectFrom('mfa_factors')
    .select('id')
    .where('user_id', '=', userId)
    .where(isOutsideSharedTime(viewer, sql`user_id`, sql`confirmed_at`, sql`last_used_at`))
    .execute();
  const knownIds = new Set(known.map(({ id }) => id));
  const seen = factors.map((factor) =>
    knownIds.has(factor.id) ? factor : { ...factor, name: '', confirmed_at: null, last_used_at: null },
  );
  const isKnown = factors.every(({ id }) => knownIds.has(id));
  return { factors: seen, recovery_codes: isKnown ? recovery_codes : null };
};

type Owner = { id: number; email: string; clientIds: readonly number[] };

/**
 * Removes the second factors of a locked user, and informs them.
 * @param actor null for an operator at the command line
 * @throws Problem `not-found` without a second factor
 */
export const resetFactors = async (
  { tx, audit, now }: { tx: Em; audit: Audit; now: Date },
  actor: Actor | null,
  { id, email, clientIds: clients }: Owner,
  reason: string,
): Promise<void> => {
  if (!(await hasSecondFactor(tx, id))) throw notFound('second factor');
  await deleteFactors(tx, id);
  await enqueueFactorNotice(tx, 'second-factor-reset', { userId: id, now, address: null });
  const details = reason === '' ? {} : { reason };
  await audit.record(tx, [{ action: 'mfa.reset', actor, target: email, clients, details }]);
};

/** Deletes all second factors and recovery codes of a user, and the logins that wait for them. */
export const deleteFactors = async (tx: Em, userId: number): Promise<void> => {
  await kysely(tx).deleteFrom('mfa_factors').where('user_id', '=', userId).execute();
  await deleteRecoveryCodes(tx, userId);
  await deleteChallenges(tx, userId);
};

const deleteUnconfirmed = (tx: Em, userId: number) =>
  kysely(tx)
    .deleteFrom('mfa_factors')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is', null)
    .execute();

/** The code counts in the session in which it was entered. Those in other browsers were confirmed by the password alone. */
const recordFirstCode = async (tx: Em, { id, credential }: Actor): Promise<void> => {
  const session = credential?.kind === 'session' ? credential : null;
  await kysely(tx)
    .updateTable('sessions')
    .set({ authenticated_at: new Date(0) })
    .where('user_id', '=', id)
    .where('id', '<>', session?.id ?? 0)
    .execute();
  if (session)
    await kysely(tx)
      .updateTable('sessions')
      .set({ methods: addMethods(session.proof.methods, BY_CODE) })
      .where('id', '=', session.id)
      .execute();
};
