import { sql } from 'kysely';
import type { FactorKind } from '../../../entities/mfa.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { newSecret } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import { BY_PASSWORD } from '../access/auth-methods.ts';
import { CLIENT_IDS } from '../access/visibility.ts';
import { REQUIRES_SSO } from '../clients/connection-lookup.ts';
import type { LoginStep } from '../policies/factor-policy.ts';
import { type ProviderSession, tokenDigest } from './credentials.ts';

/** Minutes between the password and the second factor. Longer to set one up, because many people first install the app. */
export const MINUTES: Record<LoginStep, number> = { code: 5, enrol: 30, passkey: 30 };

/**
 * Codes and passkeys that may be tried per challenge; then the password must be entered again. Codes of an enrolment cannot be guessed,
 * because the browser knows the secret, and a new passkey proves nothing about the person.
 */
const ATTEMPTS: Record<LoginStep, number> = { code: 5, enrol: 30, passkey: 30 };

/** `sealedSecret`: the secret of an app to set up; `methods`: proven so far; `provider`: set for single sign-on. */
type NewChallenge = {
  userId: number;
  step: LoginStep;
  sealedSecret: Buffer | null;
  methods: readonly string[];
  provider: ProviderSession | null;
  now: Date;
};

/**
 * Adds a challenge for a locked user, whose password was entered or whom an identity provider has logged in. The user's other challenges
 * stay: someone who knows the password must not end the login of the owner. Returns its token, which only the browser keeps.
 */
export const addChallenge = async (
  tx: Em,
  { userId, step, sealedSecret, methods, provider, now }: NewChallenge,
): Promise<string> => {
  const token = newSecret();
  await kysely(tx)
    .insertInto('login_challenges')
    .values({
      user_id: userId,
      digest: tokenDigest(token),
      first_step: provider ? 'sso' : 'password',
      step,
      sealed_secret: sealedSecret,
      connection_id: provider?.connectionId ?? null,
      sid: provider?.sid ?? null,
      methods: [...methods],
      created_at: now,
      expires_at: new Date(now.getTime() + MINUTES[step] * MINUTE_MS),
    })
    .execute();
  return token;
};

/** Whether a challenge has this token, and can still be answered. */
const isOpen = (token: string, now: Date) =>
  condition`digest = ${tokenDigest(token)} and used_at is null and expires_at > ${now}`;

/**
 * Finds a login that waits for the setup of an app or a passkey. Does not count as an attempt.
 * @throws Problem `invalid-challenge`
 */
export const readEnrolment = (em: Em, token: string, now: Date) =>
  kysely(em)
    .selectFrom('login_challenges')
    .innerJoin('users', 'users.id', 'login_challenges.user_id')
    .select(['users.id as userId', 'users.email', 'step', 'sealed_secret', 'digest', 'expires_at'])
    .where(isOpen(token, now))
    .where('step', 'in', ['enrol', 'passkey'])
    .executeTakeFirstOrThrow(() => new Problem('invalid-challenge'));

/**
 * Takes one of the attempts of a challenge, in a separate statement, so that concurrent codes cannot exceed the limit. Returns the
 * challenge and its user.
 * @throws Problem `invalid-challenge`
 */
export const takeAttempt = async (em: Em, token: string, step: LoginStep, now: Date) => {
  const taken = await kysely(em)
    .updateTable('login_challenges')
    .set((row) => ({ attempts: row('attempts', '+', 1) }))
    .where(isOpen(token, now))
    .where('step', '=', step)
    .where('attempts', '<', ATTEMPTS[step])
    .returning(['id', 'user_id', 'digest', 'sealed_secret', 'connection_id', 'sid', 'methods'])
    .executeTakeFirstOrThrow(() => new Problem('invalid-challenge'));
  const user = await kysely(em)
    .selectFrom('users')
    .select(['id', 'email', 'last_password_set as lastPasswordSet', CLIENT_IDS])
    .where('id', '=', taken.user_id)
    // By now, the client may require single sign-on.
    .where(taken.connection_id === null ? condition`not ${REQUIRES_SSO}` : condition`true`)
    .executeTakeFirstOrThrow(() => new Problem('invalid-challenge'));
  const { id, digest, sealed_secret: sealedSecret, connection_id: connectionId, sid } = taken;
  // In rows of the previous version, null means a password.
  const methods: readonly string[] = taken.methods ?? BY_PASSWORD;
  const provider = connectionId === null ? null : { connectionId, sid };
  return { id, user, digest, sealedSecret, methods, provider };
};

/**
 * The user of a challenge that can still be answered, and the kinds of the user's second factors.
 * @throws Problem `invalid-challenge`
 */
export const findChallengeUser = (em: Em, token: string, now: Date) => {
  const kinds = sql<FactorKind[]>`array(select distinct kind from mfa_factors f
    where f.user_id = login_challenges.user_id and f.confirmed_at is not null order by kind)`;
  return kysely(em)
    .selectFrom('login_challenges')
    .select(['user_id', kinds.as('kinds')])
    .where(isOpen(token, now))
    .where('attempts', '<', ATTEMPTS.code)
    .where('step', '=', 'code')
    .executeTakeFirstOrThrow(() => new Problem('invalid-challenge'));
};

/**
 * Completes a challenge of a locked user. Of several concurrent answers, only one does: a change of the password, a deactivation and a
 * reset of the factors delete the row.
 * @throws Problem `invalid-challenge`
 */
export const completeChallenge = async (tx: Em, id: number, now: Date): Promise<void> => {
  // A change of the connection deletes the row, too.
  await sql`select from sso_connections where id = (select connection_id from login_challenges where id = ${id})
    for share`.execute(kysely(tx));
  const completed = await kysely(tx)
    .updateTable('login_challenges')
    .set({ used_at: now })
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .executeTakeFirst();
  if (completed.numUpdatedRows === 0n) throw new Problem('invalid-challenge');
};
