import { type Insertable, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { FACTOR_KINDS, type FactorKind } from '../../../entities/mfa.ts';
import { clientIdsOf, condition, type Em, kysely } from '../../db/kysely.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { invalid, invalidInput, notFound, Problem } from '../../lib/problems.ts';
import {
  type Actor,
  canViewAll,
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
import { type CodeOwner, deleteRecoveryCodes, replaceRecoveryCodes } from './factor-codes.ts';
import { insufficientFrom, readFactorState } from './factor-policy.ts';
import { deleteChallenges } from './login-challenges.ts';
import { type AuthMethod, addMethods, BY_CODE } from './methods.ts';
import { matchTotpStep, newTotpSecret, otpauthUrl } from './totp.ts';

export { FACTOR_KINDS };

/** How many of each kind a user can have. */
const MAX_FACTORS: Record<FactorKind, number> = { totp: 5, passkey: 10 };

/** Time to scan the QR code and to enter the first code. */
export const ENROLMENT_MS = HOUR_MS;

const SERVICE_NAME = 'Steward';

const NOT_STARTED = {
  detail: 'No second factor waits for its first code. Start again with POST /api/v1/mfa/totp/.',
};

const OWN_FACTORS = { detail: 'Remove your own second factors with DELETE /api/v1/mfa/{id}/.' };

/** Second factors of the actor, and their reset by others. */
export const createSecondFactors = (unit: UnitOfWork) => {
  const { em, clock, audit, origin, factorSecrets, staffSecondFactor } = unit;

  return {
    /** The actor's second factors, and how many of their recovery codes are unused. */
    list: (actor: Actor) => readFactors(em, actor.id),

    /** Whether the actor has a second factor, from when on they need another one than they have, and whether one is recommended. */
    status: async (actor: Actor) => {
      const { is_recommended, ...state } = await readFactorState(em, actor.id, staffSecondFactor);
      const { enrolled } = state;
      return {
        is_set_up: enrolled > 0,
        required_from: insufficientFrom(state, enrolled),
        is_recommended: enrolled === 0 && is_recommended,
      };
    },

    /**
     * Starts the enrolment of an authenticator app. It counts after `confirmTotp`; another start replaces it.
     * @param host names the client, which the app shows
     * @throws Problem `reauthentication-required`, `invalid-input` on `name`
     */
    startTotp: (actor: Actor, name: string, host: string) =>
      changeOwnFactors(unit, actor, async (tx, { now }) => {
        const secret = await newTotpSecret();
        const sealed_secret = factorSecrets.seal(actor.id, secret);
        await startEnrolment(tx, { user_id: actor.id, kind: 'totp', name, sealed_secret, created_at: now });
        return { secret, otpauth_url: await enrolmentUrl(tx, host, actor.email, secret) };
      }),

    /**
     * Confirms the started enrolment by a code of the app. Other sessions of the actor then have to be confirmed with a code.
     * @returns ten recovery codes with the first factor, else none
     * @throws Problem `reauthentication-required`, `not-found`, `invalid-otp`
     */
    confirmTotp: (actor: Actor, code: string): Promise<string[]> =>
      changeOwnFactors(unit, actor, async (tx, change) => {
        const now = change.now;
        const started = await findEnrolment(tx, actor.id, 'totp', new Date(now.getTime() - ENROLMENT_MS));
        if (!started) throw new Problem('not-found', NOT_STARTED);
        const secret = factorSecrets.open(actor.id, started.sealed_secret);
        const digits = code.replaceAll(/\s/g, '');
        const step = secret === null ? null : await matchTotpStep(secret, digits, { now, lastStep: null });
        if (step === null) throw new Problem('invalid-otp');
        await kysely(tx)
          .updateTable('mfa_factors')
          .set({ last_step: step })
          .where('id', '=', started.id)
          .execute();
        const { id, name } = started;
        return completeEnrolment(
          unit,
          tx,
          { actor, ...change },
          { id, kind: 'totp', name, methods: BY_CODE },
        );
      }),

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
        await recordOwn(unit, tx, actor, 'mfa.rename', { id, name });
        return renamed;
      }),

    /**
     * Removes a second factor of the actor; with the last one, the recovery codes.
     * @throws Problem `reauthentication-required`, `not-found`
     */
    remove: (actor: Actor, id: number): Promise<void> =>
      changeOwnFactors(unit, actor, async (tx, { now }) => {
        const { name, kind } = await kysely(tx)
          .deleteFrom('mfa_factors')
          .where('user_id', '=', actor.id)
          .where('id', '=', id)
          .where('confirmed_at', 'is not', null)
          .returning(['name', 'kind'])
          .executeTakeFirstOrThrow(() => notFound('second factor'));
        if (!(await hasSecondFactor(tx, actor.id))) await deleteFactors(tx, actor.id);
        const notice = { userId: actor.id, now, address: origin.address };
        await enqueueFactorNotice(tx, MAILS[kind].removed, notice);
        await recordOwn(unit, tx, actor, 'mfa.remove', { id, kind, name });
      }),

    /**
     * Replaces the actor's recovery codes by ten new ones.
     * @throws Problem `reauthentication-required`, `not-found` without a second factor
     */
    renewRecoveryCodes: (actor: Actor): Promise<string[]> =>
      changeOwnFactors(unit, actor, async (tx, { isFirst }) => {
        if (isFirst) throw notFound('second factor');
        await recordOwn(unit, tx, actor, 'mfa.renew-recovery-codes');
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

/** When the actor changes their factors, and whether they had none. */
type Change = { now: Date; isFirst: boolean };

/**
 * Runs a change of the actor's own factors. Changes of one user run one after another. A token of a user who has a factor must be
 * confirmed, or one that was stolen could remove it, or add another one.
 * @throws Problem `reauthentication-required`, `unauthenticated`
 */
export const changeOwnFactors = <T>(
  { em, clock }: Pick<UnitOfWork, 'em' | 'clock'>,
  actor: Actor,
  work: (tx: Em, change: Change) => Promise<T>,
): Promise<T> =>
  em.transactional(async (tx) => {
    const now = clock.now();
    requireRecentPassword(actor, now);
    if (!(await lockActiveUser(tx, actor.id))) throw new Problem('unauthenticated');
    const isFirst = !(await hasSecondFactor(tx, actor.id));
    if (!isFirst) requireConfirmation(actor, now);
    return work(tx, { now, isFirst });
  });

type OwnAction = 'mfa.enroll' | 'mfa.remove' | 'mfa.rename' | 'mfa.renew-recovery-codes';

const recordOwn = async (
  { audit }: Pick<UnitOfWork, 'audit'>,
  tx: Em,
  actor: Actor,
  action: OwnAction,
  details: Record<string, unknown> = {},
) =>
  audit.record(tx, [
    { action, actor, target: actor.email, clients: await clientIdsOf(tx, actor.id), details },
  ]);

const MAILS = {
  totp: { added: 'second-factor-added', removed: 'second-factor-removed' },
  passkey: { added: 'passkey-added', removed: 'passkey-removed' },
} as const satisfies Record<FactorKind, unknown>;

/** The name of the client of this host, which apps and authenticators show. */
export const readServiceName = async (em: Em, host: string): Promise<string> => {
  const site = await findClientByHost(em, host).catch(() => null);
  return site?.client_name ?? SERVICE_NAME;
};

/**
 * Adds a factor that does not count yet to a locked user. It replaces an earlier one that was not completed.
 * @throws Problem `invalid-input`
 */
export const startEnrolment = async (tx: Em, factor: Insertable<Database['mfa_factors']>): Promise<void> => {
  const { user_id: userId, kind } = factor;
  const confirmed = await kysely(tx)
    .selectFrom('mfa_factors')
    .select('id')
    .where('user_id', '=', userId)
    .where('kind', '=', kind)
    .where('confirmed_at', 'is not', null)
    .execute();
  if (confirmed.length >= MAX_FACTORS[kind])
    throw kind === 'totp'
      ? invalid({ name: [`You already have ${MAX_FACTORS.totp} authenticator apps. Remove one first.`] })
      : invalidInput(`You already have ${MAX_FACTORS.passkey} passkeys. Remove one first.`);
  await deleteUnconfirmed(tx, userId);
  await kysely(tx).insertInto('mfa_factors').values(factor).execute();
};

/** The factor of a locked user that was started after `since` and does not count yet. */
export const findEnrolment = (tx: Em, userId: number, kind: FactorKind, since: Date) =>
  kysely(tx)
    .selectFrom('mfa_factors')
    .select(['id', 'name', 'sealed_secret', 'challenge'])
    .where('user_id', '=', userId)
    .where('kind', '=', kind)
    .where('confirmed_at', 'is', null)
    .where('created_at', '>', since)
    .executeTakeFirst();

type Completed = { id: number; kind: FactorKind; name: string; methods: readonly AuthMethod[] };

/**
 * Lets a started factor of the locked actor count, also as proven in the actor's session. Other sessions of the actor then have to be
 * confirmed with a second factor.
 * @returns ten recovery codes with the first factor, else none
 */
export const completeEnrolment = async (
  unit: Pick<UnitOfWork, 'audit' | 'origin'>,
  tx: Em,
  { actor, now, isFirst }: Change & { actor: Actor },
  { id, kind, name, methods }: Completed,
): Promise<string[]> => {
  await kysely(tx)
    .updateTable('mfa_factors')
    .set({ name, confirmed_at: now, challenge: null })
    .where('id', '=', id)
    .execute();
  await recordFirstProof(tx, actor, methods);
  const notice = { userId: actor.id, now, address: unit.origin.address };
  await enqueueFactorNotice(tx, MAILS[kind].added, notice);
  await recordOwn(unit, tx, actor, 'mfa.enroll', { id, kind, name });
  return isFirst ? replaceRecoveryCodes(tx, actor.id) : [];
};

/** What the QR code for an authenticator app holds. The app shows the client whose site the host is. */
export const enrolmentUrl = async (em: Em, host: string, email: string, secret: string): Promise<string> => {
  return otpauthUrl(await readServiceName(em, host), email, secret);
};

export const DEFAULT_FACTOR_NAME = 'Authenticator app';

type FirstFactor = {
  user: CodeOwner;
  sealedSecret: Uint8Array;
  code: string;
  now: Date;
};

/**
 * Adds the first second factor of a locked user, who logs in with it.
 * @returns ten recovery codes
 * @throws Problem `invalid-otp`; `invalid-challenge` if the user has one by now, or its secret cannot be read
 */
export const addFirstFactor = async (
  { factorSecrets, audit, origin }: Pick<UnitOfWork, 'factorSecrets' | 'audit' | 'origin'>,
  tx: Em,
  { user, sealedSecret, code, now }: FirstFactor,
): Promise<string[]> => {
  const secret = factorSecrets.open(user.id, sealedSecret);
  if (secret === null || (await hasSecondFactor(tx, user.id))) throw new Problem('invalid-challenge');
  const step = await matchTotpStep(secret, code.replaceAll(/\s/g, ''), { now, lastStep: null });
  if (step === null) throw new Problem('invalid-otp');
  const name = DEFAULT_FACTOR_NAME;
  const { id } = await kysely(tx)
    .insertInto('mfa_factors')
    .values({
      user_id: user.id,
      kind: 'totp',
      name,
      sealed_secret: Buffer.from(sealedSecret),
      ...{ created_at: now, confirmed_at: now, last_step: step },
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await recordFirstProof(tx, { id: user.id, credential: null }, BY_CODE);
  await enqueueFactorNotice(tx, 'second-factor-added', { userId: user.id, now, address: origin.address });
  const event = {
    actor: user,
    target: user.email,
    clients: user.clientIds,
    details: { id, kind: 'totp', name },
  };
  await audit.record(tx, [{ action: 'mfa.enroll', ...event }]);
  return replaceRecoveryCodes(tx, user.id);
};

/** Confirmed factors have it. */
const CONFIRMED_AT = sql<Date>`coalesce(confirmed_at, created_at)`.as('confirmed_at');

type Factor = Awaited<ReturnType<typeof readFactors>>['factors'][number];

const requireResettable = (actor: Actor, user: TargetRoles): void => {
  if (user.id === actor.id) throw new Problem('self-modification', OWN_FACTORS);
  requireUserAdmin(actor, user);
};

/** The confirmed second factors of a user, oldest first, and how many recovery codes are unused. */
const readFactors = async (em: Em, userId: number) => {
  const db = kysely(em);
  const factors = await db
    .selectFrom('mfa_factors')
    .select(['id', 'kind', 'name', 'last_used_at', CONFIRMED_AT])
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
 * The second factors of a user as a viewer may see them. Of one that was set up while the person belonged to a client that they have left,
 * only that it exists, so that it can be reset; of the recovery codes of such a person nothing, because codes may have been used then.
 */
export const readFactorsFor = async (em: Em, viewer: Viewer, userId: number) => {
  const { factors, recovery_codes } = await readFactors(em, userId);
  const isOutside = (...columns: string[]) =>
    isOutsideSharedTime(viewer, sql`user_id`, ...columns.map((column) => sql.ref(column)));
  const known = await kysely(em)
    .selectFrom('mfa_factors')
    .innerJoin('users', 'users.id', 'user_id')
    .select('mfa_factors.id')
    .select([
      isOutside('created_at', 'confirmed_at').as('is_set_up_outside'),
      isOutside('last_used_at').as('is_used_outside'),
      condition`users.shared_since is null`.as('was_never_shared'),
    ])
    .where('user_id', '=', userId)
    .execute();
  const seen = factors.map((factor) => {
    const row = known.find(({ id }) => id === factor.id);
    if (!row?.is_set_up_outside) return { ...factor, name: '', confirmed_at: null, last_used_at: null };
    return { ...factor, last_used_at: row.is_used_outside ? factor.last_used_at : null };
  });
  const seesCodes = canViewAll(viewer) || viewer.id === userId || known[0]?.was_never_shared === true;
  return { factors: seen, recovery_codes: seesCodes || factors.length === 0 ? recovery_codes : null };
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

/** A new factor counts in the session in which it was added. Those in other browsers were confirmed by the password alone. */
const recordFirstProof = async (
  tx: Em,
  { id, credential }: Pick<Actor, 'id' | 'credential'>,
  methods: readonly AuthMethod[],
): Promise<void> => {
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
      .set({ methods: addMethods(session.proof.methods, methods) })
      .where('id', '=', session.id)
      .execute();
};
