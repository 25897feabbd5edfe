import type { Em } from '../../db/kysely.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { BY_CODE } from '../access/auth-methods.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { hasSecondFactor } from './credentials.ts';
import {
  addFactorAtLogin,
  changeOwnFactors,
  completeEnrolment,
  type Enrolment,
  findEnrolment,
  readServiceName,
  startEnrolment,
} from './factor-enrolment.ts';
import type { CodeOwner } from './factor-verification.ts';
import { matchTotpStep, newTotpSecret, otpauthUrl } from './one-time-codes.ts';

/** How long the user has to scan the QR code and to enter the first code. */
export const ENROLMENT_MS = HOUR_MS;

const NOT_STARTED = {
  detail: 'No second factor is being set up. Start again with POST /api/v1/mfa/totp/.',
};

/** Adds authenticator apps to the actor's account. */
export const createTotpEnrolment = (unit: UnitOfWork) => {
  const { factorSecrets } = unit;

  return {
    /**
     * Starts the enrolment of an authenticator app. It counts after `confirm`; another start replaces it.
     * @param host names the client, which the app shows
     * @throws Problem `reauthentication-required`, `invalid-input` on `name`
     */
    start: (actor: Actor, name: string, host: string) =>
      changeOwnFactors(unit, actor, async (tx, { now }) => {
        const secret = await newTotpSecret();
        const sealed_secret = factorSecrets.seal(actor.id, secret);
        await startEnrolment(tx, { user_id: actor.id, kind: 'totp', name, sealed_secret, created_at: now });
        return { secret, otpauth_url: await enrolmentUrl(tx, host, actor.email, secret) };
      }),

    /**
     * Confirms the started enrolment by a code of the app. The actor's other sessions must then be confirmed with a code.
     * @throws Problem `reauthentication-required`, `not-found`, `invalid-otp`
     */
    confirm: (actor: Actor, code: string): Promise<Enrolment> =>
      changeOwnFactors(unit, actor, async (tx, change) => {
        const now = change.now;
        const started = await findEnrolment(tx, actor.id, 'totp', new Date(now.getTime() - ENROLMENT_MS));
        if (!started?.sealedSecret) throw new Problem('not-found', NOT_STARTED);
        const secret = factorSecrets.open(actor.id, started.sealedSecret);
        const step = secret === null ? null : await matchTotpStep(secret, code, { now, lastStep: null });
        if (step === null) throw new Problem('invalid-otp');
        started.lastStep = step;
        return completeEnrolment(unit, tx, { actor, ...change }, started, BY_CODE);
      }),
  };
};

/** The content of the QR code for an authenticator app. The app shows the client of the host's site. */
export const enrolmentUrl = async (em: Em, host: string, email: string, secret: string): Promise<string> =>
  otpauthUrl(await readServiceName(em, host), email, secret);

export const DEFAULT_FACTOR_NAME = 'Authenticator app';

type FirstApp = { user: CodeOwner; sealedSecret: Uint8Array; code: string; now: Date };

/**
 * Adds an app as the first second factor of a locked user during a login.
 * @returns ten recovery codes
 * @throws Problem `invalid-otp`; `invalid-challenge` if the user has a second factor by now, or the secret cannot be read
 */
export const addFirstApp = async (
  unit: Pick<UnitOfWork, 'factorSecrets' | 'audit' | 'origin'>,
  tx: Em,
  { user, sealedSecret, code, now }: FirstApp,
): Promise<string[]> => {
  const secret = unit.factorSecrets.open(user.id, sealedSecret);
  if (secret === null || (await hasSecondFactor(tx, user.id))) throw new Problem('invalid-challenge');
  const last_step = await matchTotpStep(secret, code, { now, lastStep: null });
  if (last_step === null) throw new Problem('invalid-otp');
  const sealed_secret = Buffer.from(sealedSecret);
  const factor = { kind: 'totp', name: DEFAULT_FACTOR_NAME, sealed_secret, last_step } as const;
  return (await addFactorAtLogin(unit, tx, { user, now, factor })).codes;
};
