import type { InferEntity } from '@mikro-orm/core';
import type { Insertable } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { FACTOR_KINDS, type FactorKind, MfaFactor } from '../../../entities/mfa.ts';
import { clientIdsOf, type Em, kysely } from '../../db/kysely.ts';
import { invalid, invalidInput, Problem } from '../../lib/problems.ts';
import { type Actor, proofOf, requireConfirmedCredential } from '../access/actor.ts';
import type { AuthMethod } from '../access/auth-methods.ts';
import { lockActiveUser } from '../accounts/user-locks.ts';
import { type Happening, ofOneself, ofUser } from '../audit/audit.ts';
import { findClientByHost } from '../clients/sites.ts';
import { enqueueNotice } from '../outbox/enqueue-mails.ts';
import { strengthOf } from '../policies/factor-policy.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { hasSecondFactor, recordProof, renewSession } from './credentials.ts';
import type { CodeOwner } from './factor-verification.ts';
import { replaceRecoveryCodes } from './one-time-codes.ts';

export { FACTOR_KINDS };

/** Maximum number per user, by kind. */
const MAX_FACTORS: Record<FactorKind, number> = { totp: 5, passkey: 10 };

const SERVICE_NAME = 'Steward';

/** The time of a change of the actor's factors, and whether the actor had none before. */
type Change = { now: Date; isFirst: boolean };

/**
 * Runs a change of the actor's own factors. Changes of one user run one after another. Tokens must be confirmed, too: a stolen token could
 * remove a factor, or add one that locks the user out.
 * @throws Problem `reauthentication-required`, `unauthenticated`
 */
export const changeOwnFactors = <T>(
  { em, clock }: Pick<UnitOfWork, 'em' | 'clock'>,
  actor: Actor,
  work: (tx: Em, change: Change) => Promise<T>,
): Promise<T> =>
  em.transactional(async (tx) => {
    const now = clock.now();
    requireConfirmedCredential(actor.credential, now);
    if (!(await lockActiveUser(tx, actor.id))) throw new Problem('unauthenticated');
    // If the first factor was added while this waited for the lock, other credentials must be confirmed again.
    requireConfirmedCredential(await readConfirmation(tx, actor), now);
    return work(tx, { now, isFirst: !(await hasSecondFactor(tx, actor.id)) });
  });

/**
 * The present time of confirmation of the credential.
 * @throws Problem `unauthenticated` if the credential was revoked since, or is a session that got a new secret
 */
const readConfirmation = async (tx: Em, actor: Actor) => {
  const { credential } = actor;
  if (!credential) return null;
  const ended = () => new Problem('unauthenticated');
  if (credential.kind === 'token')
    return kysely(tx)
      .selectFrom('api_tokens')
      .select('authenticated_at as authenticatedAt')
      .where('id', '=', credential.id)
      .executeTakeFirstOrThrow(ended);
  const { methods, ...confirmation } = await kysely(tx)
    .selectFrom('sessions')
    .select(['authenticated_at as authenticatedAt', 'methods'])
    .where('id', '=', credential.id)
    .executeTakeFirstOrThrow(ended);
  // The session has become stronger in another request: this request may come from someone who has copied the old cookie.
  if (strengthOf(methods) > strengthOf(proofOf(actor)?.methods ?? [])) throw ended();
  return confirmation;
};

type OwnChange = Happening<'mfa.remove' | 'mfa.rename' | 'mfa.renew-recovery-codes'>;

/** Records a change of the actor's own factors. */
export const recordOwn = async (
  { audit }: Pick<UnitOfWork, 'audit'>,
  tx: Em,
  actor: Actor,
  change: OwnChange,
) =>
  audit.record(tx, [{ ...change, actor, target: ofUser(actor), clients: await clientIdsOf(tx, actor.id) }]);

/** The mails to users about changes of their factors. */
export const FACTOR_MAILS = {
  totp: { added: 'second-factor-added', removed: 'second-factor-removed' },
  passkey: { added: 'passkey-added', removed: 'passkey-removed' },
} as const satisfies Record<FactorKind, unknown>;

/** The name of the client of this host, for apps and authenticators to show. */
export const readServiceName = async (em: Em, host: string): Promise<string> => {
  const site = await findClientByHost(em, host).catch(() => null);
  return site?.client_name ?? SERVICE_NAME;
};

/**
 * Adds an unconfirmed factor to a locked user. It replaces an earlier unconfirmed one.
 * @throws Problem `invalid-input`
 */
export const startEnrolment = async (tx: Em, factor: Insertable<Database['mfa_factors']>): Promise<void> => {
  const { user_id: userId, kind } = factor;
  const db = kysely(tx);
  const ofKind = db
    .selectFrom('mfa_factors')
    .select('id')
    .where('user_id', '=', userId)
    .where('kind', '=', kind);
  const confirmed = await ofKind.where('confirmed_at', 'is not', null).execute();
  if (confirmed.length >= MAX_FACTORS[kind])
    throw kind === 'totp'
      ? invalid({ name: [`You already have ${MAX_FACTORS.totp} authenticator apps. Remove one first.`] })
      : invalidInput(`You already have ${MAX_FACTORS.passkey} passkeys. Remove one first.`);
  await db
    .deleteFrom('mfa_factors')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is', null)
    .execute();
  await db.insertInto('mfa_factors').values(factor).execute();
};

/** The unconfirmed factor of a locked user that was started after `since`. */
export const findEnrolment = (tx: Em, userId: number, kind: FactorKind, since: Date) =>
  tx.findOne(MfaFactor, { user: userId, kind, confirmedAt: null, createdAt: { $gt: since } });

/** `recoveryCodes`: ten with the first factor, otherwise none. `session`: the new secret of a session that has become stronger. */
export type Enrolment = { recoveryCodes: string[]; session: string | null };

/**
 * Confirms a started factor of the locked actor, records it as proven in the actor's session, and saves both. The actor's other sessions
 * must then be confirmed with a second factor.
 */
export const completeEnrolment = async (
  unit: Pick<UnitOfWork, 'audit' | 'origin'>,
  tx: Em,
  { actor, now, isFirst }: Change & { actor: Actor },
  started: InferEntity<typeof MfaFactor>,
  methods: readonly AuthMethod[],
): Promise<Enrolment> => {
  tx.assign(started, { confirmedAt: now, challenge: null });
  await tx.flush();
  const { id, kind } = started;
  const clientIds = await clientIdsOf(tx, actor.id);
  const added = { user: { ...actor, clientIds }, now, isFirst, details: { id, kind } };
  const recoveryCodes = await finishEnrolment(unit, tx, added);
  const { credential } = actor;
  if (credential?.kind !== 'session') return { recoveryCodes, session: null };
  const session = await recordProof(tx, credential.id, methods);
  // If the provider had already asked for a second factor, the session does not become stronger. It gets a new secret, because only this
  // session may get the recovery codes.
  return { recoveryCodes, session: session ?? (isFirst ? await renewSession(tx, credential.id) : null) };
};

type LoginFactor = {
  user: CodeOwner;
  now: Date;
  factor: Omit<Insertable<Database['mfa_factors']>, 'user_id' | 'created_at' | 'confirmed_at'>;
};

/**
 * Adds a second factor for a locked user during a login.
 * @returns its id, and ten recovery codes with the first factor, otherwise none
 */
export const addFactorAtLogin = async (
  unit: Pick<UnitOfWork, 'audit' | 'origin'>,
  tx: Em,
  { user, now, factor }: LoginFactor,
): Promise<{ id: number; codes: string[] }> => {
  const isFirst = !(await hasSecondFactor(tx, user.id));
  const { id } = await kysely(tx)
    .insertInto('mfa_factors')
    .values({ ...factor, user_id: user.id, created_at: now, confirmed_at: now })
    .returning('id')
    .executeTakeFirstOrThrow();
  const details = { id, kind: factor.kind };
  const added = { user: { ...user, credential: null }, now, isFirst, details };
  return { id, codes: await finishEnrolment(unit, tx, added) };
};

type Added = Change & {
  user: Pick<Actor, 'id' | 'email' | 'credential'> & { clientIds: number[] };
  details: { id: number; kind: FactorKind };
};

const finishEnrolment = async (
  { audit, origin }: Pick<UnitOfWork, 'audit' | 'origin'>,
  tx: Em,
  { user, now, isFirst, details }: Added,
): Promise<string[]> => {
  await resetConfirmations(tx, user);
  const notice = { userId: user.id, now, address: origin.address };
  await enqueueNotice(tx, FACTOR_MAILS[details.kind].added, notice);
  await audit.record(tx, [{ action: 'mfa.enroll', ...ofOneself(user), details }]);
  return isFirst ? replaceRecoveryCodes(tx, user.id) : [];
};

/** All sessions and tokens except the one in which the factor was added were confirmed only by the password. */
const resetConfirmations = async (
  tx: Em,
  { id, credential }: Pick<Actor, 'id' | 'credential'>,
): Promise<void> => {
  const db = kysely(tx);
  await db
    .updateTable('sessions')
    .set({ authenticated_at: new Date(0) })
    .where('user_id', '=', id)
    .where('id', '<>', credential?.kind === 'session' ? credential.id : 0)
    .execute();
  await db
    .updateTable('api_tokens')
    .set({ authenticated_at: null })
    .where('user_id', '=', id)
    .where('id', '<>', credential?.kind === 'token' ? credential.id : 0)
    .execute();
};
