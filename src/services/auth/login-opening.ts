import { type Em, kysely } from '../../db/kysely.ts';
import { newSecret } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import { type Outcome, telemetry } from '../../lib/telemetry.ts';
import { ofOneself } from '../audit/audit.ts';
import {
  type LoginStep,
  nextLoginStep,
  nextProviderStep,
  readProviderDemand,
} from '../policies/factor-policy.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { addSession, type ProviderSession } from './credentials.ts';
import type { CodeOwner } from './factor-verification.ts';
import { addChallenge } from './login-challenges.ts';
import { newTotpSecret } from './one-time-codes.ts';

/** What a browser gets for the proofs so far: the secret of a session, or the token of a challenge and its next step. */
export type OpenedLogin = { session: string } | { challenge: string; step: LoginStep };

export const outcomeOfLogin = (login: OpenedLogin): Outcome => {
  if ('session' in login) return 'ok';
  return login.step === 'code' ? 'otp-required' : 'second-factor-required';
};

export const reportLogin = (outcome: Outcome): void => telemetry.login.publish(() => ({ outcome }));

export const reported = async <T>(logIn: () => Promise<T>, outcomeOf: (result: T) => Outcome): Promise<T> => {
  try {
    const result = await logIn();
    reportLogin(outcomeOf(result));
    return result;
  } catch (error) {
    reportLogin(error instanceof Problem ? error.code : 'internal-error');
    throw error;
  }
};

type Login = {
  methods: readonly string[];
  userAgent: string;
  /** Set for single sign-on. */
  provider?: ProviderSession | null;
  /** When the user has proven this; default: now. */
  authenticatedAt?: Date;
  /** For the audit trail. */
  details?: Record<string, unknown>;
};

/** Opens sessions. Every login of a browser ends here, so that none bypasses a second factor. */
export const createLoginOpening = (unit: UnitOfWork) => {
  const { clock, audit, factorSecrets } = unit;

  /** A challenge for a locked user. */
  const challenge = async (
    tx: Em,
    user: CodeOwner,
    step: LoginStep,
    methods: readonly string[],
    provider: ProviderSession | null = null,
  ): Promise<OpenedLogin> => {
    const sealedSecret = step === 'enrol' ? factorSecrets.seal(user.id, await newTotpSecret()) : null;
    const added = { userId: user.id, step, sealedSecret, methods, provider, now: clock.now() };
    const token = await addChallenge(tx, added);
    const details = step === 'code' ? {} : { enrol: true };
    await audit.record(tx, [{ action: 'mfa.challenge', ...ofOneself(user), details }]);
    return { challenge: token, step };
  };

  return {
    challenge,

    /**
     * Opens a session for a locked user, or a challenge if the user needs more than these methods by now. A login by an identity provider
     * enrols no factor.
     * @throws Problem `second-factor-required` for a login at a provider if the user lacks a factor that the client requires
     */
    open: async (
      tx: Em,
      user: CodeOwner,
      { methods, userAgent, provider = null, authenticatedAt, details = {} }: Login,
    ): Promise<OpenedLogin> => {
      const [secret, now] = [newSecret(), clock.now()];
      const session = { userId: user.id, secret, now, userAgent, methods, provider };
      const { id, state } = await addSession(unit, tx, {
        ...session,
        authenticatedAt: authenticatedAt ?? now,
      });
      const step = provider
        ? nextProviderStep(await readProviderDemand(tx, user.id, provider.connectionId, state), methods, now)
        : nextLoginStep(state, methods, now);
      if (step === null) {
        await audit.record(tx, [{ action: 'login.session', ...ofOneself(user), details }]);
        return { session: secret };
      }
      await kysely(tx).deleteFrom('sessions').where('id', '=', id).execute();
      return challenge(tx, user, step, methods, provider);
    },
  };
};
