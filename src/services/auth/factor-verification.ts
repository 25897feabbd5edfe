import { type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { type AuthMethod, BY_CODE } from '../access/auth-methods.ts';
import { ofOneself, ofUser } from '../audit/audit.ts';
import { enqueueDailyNotice, enqueueNotice } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { LAST_ADDRESSES, type PasswordEntry, sourceOf } from './login-limits.ts';
import { consumeRecoveryCode, isTotpCode, matchTotpStep } from './one-time-codes.ts';
import type { PasskeyAnswer } from './passkeys.ts';
import { invalidPasskey } from './webauthn.ts';

/** The user who proves a second factor. */
export type CodeOwner = { id: number; email: string; clientIds: number[] };

/** How a user proves a second factor: a code of an app, a recovery code, or the answer of a passkey. */
export type FactorProof = { code: string } | { passkey: PasskeyAnswer };

/** Uses up the proof, in a transaction that holds the lock of its user: of concurrent uses, only one succeeds. Returns what it proves. */
type Consume = (tx: Em) => Promise<readonly AuthMethod[]>;

type Deps = Pick<
  UnitOfWork,
  'em' | 'clock' | 'guessLimits' | 'audit' | 'origin' | 'factorSecrets' | 'logger' | 'passkeys'
>;

export type FactorProofs = ReturnType<typeof createFactorProofs>;

/** Verifies second factors, and counts wrong ones. */
export const createFactorProofs = (deps: Deps) => {
  const { em, clock, guessLimits, audit, origin, factorSecrets, logger, passkeys } = deps;
  const address = origin.address ?? '';

  const consumeTotp = async (tx: Em, userId: number, code: string): Promise<boolean> => {
    const db = kysely(tx);
    const now = clock.now();
    const factors = await db
      .selectFrom('mfa_factors')
      .select(['id', 'sealed_secret', 'last_step'])
      .where('user_id', '=', userId)
      .where('kind', '=', 'totp')
      .where('confirmed_at', 'is not', null)
      .orderBy('id')
      .execute();
    for (const { id, sealed_secret: sealed, last_step: lastStep } of factors) {
      const secret = factorSecrets.open(userId, sealed);
      if (secret === null) logger.warn(UNREADABLE);
      const step = secret === null ? null : await matchTotpStep(secret, code, { now, lastStep });
      if (step === null) continue;
      const used = db.updateTable('mfa_factors').set({ last_step: step, last_used_at: now });
      await used.where('id', '=', id).execute();
      return true;
    }
    return false;
  };

  /** A code of an app, or a recovery code, which replaces a second factor. */
  const consumeCode = async (tx: Em, user: CodeOwner, code: string): Promise<readonly AuthMethod[]> => {
    if (isTotpCode(code)) {
      if (!(await consumeTotp(tx, user.id, code))) throw new Problem('invalid-otp');
      return BY_CODE;
    }
    const now = clock.now();
    if (!(await consumeRecoveryCode(tx, user.id, code, now))) throw new Problem('invalid-otp');
    await enqueueNotice(tx, 'recovery-code-used', { userId: user.id, now, address: origin.address });
    await audit.record(tx, [{ action: 'mfa.use-recovery-code', ...ofOneself(user) }]);
    return BY_CODE;
  };

  const prepare = async (user: CodeOwner, proof: FactorProof): Promise<Consume> => {
    if ('code' in proof) return (tx) => consumeCode(tx, user, proof.code);
    const passkey = await passkeys.find(proof.passkey.assertion.id);
    if (passkey?.id !== user.id) throw invalidPasskey();
    const verified = await passkeys.verify(passkey, proof.passkey);
    return (tx) => passkeys.consume(tx, verified);
  };

  /** Counts only codes: the answer of a passkey cannot be guessed. */
  const takeGuess = async ({ id, email }: CodeOwner, entry: PasswordEntry) => {
    const source = entry === 'live' ? entry : sourceOf(address, await readLastAddresses(em, id));
    return guessLimits.take({ kind: 'code', account: email, address, source });
  };

  /** The tenth wrong code enqueues a mail: people who enter codes know the password, or are logged in. */
  const recordFailure = (user: CodeOwner, isTenth: boolean) =>
    em.transactional(async (tx) => {
      const event = { actor: null, target: ofUser(user), clients: user.clientIds };
      await audit.record(tx, [{ action: 'mfa.fail', ...event }]);
      const notice = { userId: user.id, now: clock.now(), address: origin.address };
      if (isTenth) await enqueueDailyNotice(tx, 'failed-codes', notice);
    });

  return {
    /**
     * Runs a transaction that consumes the proof, and counts a wrong code.
     * @throws Problem `throttled`, `invalid-otp`, `invalid-passkey`, and the problems of `transact`
     */
    verify: async <T>(
      user: CodeOwner,
      entry: PasswordEntry,
      proof: FactorProof,
      transact: (consume: Consume) => Promise<T>,
    ): Promise<T> => {
      const guess = 'code' in proof ? await takeGuess(user, entry) : null;
      const [outcome] = await Promise.allSettled([prepare(user, proof).then(transact)]);
      const failure = outcome.status === 'rejected' ? outcome.reason : null;
      if (failure instanceof Problem && WRONG_PROOFS.has(failure.code))
        await recordFailure(user, guess?.isTenth ?? false);
      else await guess?.giveBack();
      if (outcome.status === 'rejected') throw failure;
      return outcome.value;
    },
  };
};

const readLastAddresses = async (em: Em, userId: number): Promise<string[]> => {
  const owner = kysely(em).selectFrom('users').select(LAST_ADDRESSES.as('lastAddresses'));
  return (await owner.where('id', '=', userId).executeTakeFirst())?.lastAddresses ?? [];
};

const WRONG_PROOFS = new Set<Problem['code']>(['invalid-otp', 'invalid-passkey']);

const UNREADABLE =
  'The secret of a second factor cannot be opened: it was stored with another SECRET_KEY. Its owner needs a recovery code or a reset.';
