import type { Em } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { enqueueFailedCodesNotice } from '../mail/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type CodeOwner, createFactorCodes } from './factor-codes.ts';
import type { AuthMethod } from './methods.ts';
import { CopiedPasskey, type PasskeyAnswer } from './passkeys.ts';
import { type PasswordEntry, sourceOf } from './password-verification.ts';
import { invalidPasskey } from './webauthn.ts';

/** How a user shows that they have their second factor: a code of an app, a recovery code, or an answer of a passkey. */
export type FactorProof = { code: string } | { passkey: PasskeyAnswer };

/**
 * Uses up the proof, in a transaction that holds the lock of its user: of concurrent uses, only one succeeds. Returns what it proves.
 */
type Consume = (tx: Em) => Promise<readonly AuthMethod[]>;

type Deps = Pick<
  UnitOfWork,
  'em' | 'clock' | 'throttle' | 'deviceCookies' | 'audit' | 'origin' | 'factorSecrets' | 'logger' | 'passkeys'
>;

export type FactorProofs = ReturnType<typeof createFactorProofs>;

/** Verifies second factors, and counts wrong ones. */
export const createFactorProofs = (deps: Deps) => {
  const { em, clock, throttle, deviceCookies, audit, origin, passkeys } = deps;
  const codes = createFactorCodes(deps);
  const address = origin.address ?? '';

  const prepare = async (user: CodeOwner, proof: FactorProof): Promise<Consume> => {
    if ('code' in proof) return (tx) => codes.consume(tx, user, proof.code);
    const passkey = await passkeys.find(proof.passkey.assertion.id);
    if (passkey?.id !== user.id) throw invalidPasskey();
    const verified = await passkeys.verify(passkey, proof.passkey);
    return (tx) => passkeys.consume(tx, verified);
  };

  /** The failure that locks the second factor of logins enqueues a mail: who logs in with it knows the password. */
  const recordFailure = (user: CodeOwner, isLast: boolean, { cause }: Problem) =>
    em.transactional(async (tx) => {
      const event = { actor: null, target: user.email, clients: user.clientIds };
      await audit.record(tx, [{ action: 'mfa.fail', ...event }]);
      if (cause instanceof CopiedPasskey) await audit.record(tx, [{ action: 'mfa.detect-copy', ...event }]);
      const notice = { userId: user.id, now: clock.now(), address: origin.address };
      if (isLast) await enqueueFailedCodesNotice(tx, notice);
    });

  return {
    /**
     * Runs a transaction that consumes the proof, and counts a wrong one.
     * @throws Problem `throttled`, `invalid-otp`, `invalid-passkey`, and those of `transact`
     */
    verify: async <T>(
      user: CodeOwner,
      entry: PasswordEntry,
      proof: FactorProof,
      transact: (consume: Consume) => Promise<T>,
    ): Promise<T> => {
      const source = sourceOf(deviceCookies, entry, { ...user, isEnrolled: true });
      const attempt = await throttle.admitCode({ username: user.email, address, source });
      try {
        const result = await transact(await prepare(user, proof));
        await throttle.clearCodes(attempt);
        return result;
      } catch (error) {
        if (error instanceof Problem && WRONG_PROOFS.has(error.code)) {
          await throttle.recordWrongCode(attempt);
          await recordFailure(user, attempt.isLast, error);
        }
        throw error;
      }
    },
  };
};

const WRONG_PROOFS = new Set<Problem['code']>(['invalid-otp', 'invalid-passkey']);
