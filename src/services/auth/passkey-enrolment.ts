import { type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { newSecret } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import { describeUserAgent } from '../../lib/user-agent.ts';
import type { Actor } from '../access/actor.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  changeOwnFactors,
  completeEnrolment,
  findEnrolment,
  readServiceName,
  startEnrolment,
} from './factor-enrolment.ts';
import { byPasskey } from './methods.ts';
import { PASSKEY_MINUTES, readDescriptors } from './passkeys.ts';
import {
  creationOptions,
  invalidPasskey,
  type NewCredential,
  relyingPartyOf,
  verifyCreation,
} from './webauthn.ts';

const LIFETIME_MS = PASSKEY_MINUTES * MINUTE_MS;

const NOT_STARTED = {
  detail:
    'No passkey is being added, or it took too long. Start again with POST /api/v1/mfa/passkeys/options/.',
};

type NewPasskey = {
  credential: NewCredential;
  /** Undefined: named after the browser. */
  name: string | undefined;
  userAgent: string;
};

/** Adds passkeys to the account of the actor. */
export const createPasskeyEnrolment = (unit: UnitOfWork) => {
  const { baseUrl, passkeyChallenges } = unit;

  return {
    /**
     * Starts the enrolment of a passkey, which counts after `add`. Another start replaces it.
     * @param host names the client, which authenticators show
     * @throws Problem `reauthentication-required`, `passkeys-unavailable`, `invalid-input`
     */
    start: (actor: Actor, host: string) =>
      changeOwnFactors(unit, actor, async (tx, { now }) => {
        const relyingParty = relyingPartyOf(baseUrl);
        const challenge = newSecret();
        const factor = { user_id: actor.id, kind: 'passkey', name: '', challenge, created_at: now } as const;
        await startEnrolment(tx, factor);
        const { first_name, last_name, handle } = await readUser(tx, actor.id);
        const user = {
          handle: handle ?? passkeyChallenges.userHandleOf(actor.id),
          email: actor.email,
          fullName: `${first_name} ${last_name}`.trim(),
        };
        const serviceName = await readServiceName(tx, host);
        const existing = await readDescriptors(tx, actor.id);
        return creationOptions(relyingParty, {
          challenge,
          timeoutMs: LIFETIME_MS,
          serviceName,
          user,
          existing,
        });
      }),

    /**
     * Adds the passkey that a browser has created for the started enrolment. Other sessions of the actor then have to be confirmed with a
     * second factor.
     * @returns the factor, and ten recovery codes with the first factor of any kind, else none
     * @throws Problem `reauthentication-required`, `not-found`, `invalid-passkey`
     */
    add: (actor: Actor, { credential, name, userAgent }: NewPasskey) =>
      changeOwnFactors(unit, actor, async (tx, change) => {
        const now = change.now;
        const started = await findEnrolment(tx, actor.id, 'passkey', new Date(now.getTime() - LIFETIME_MS));
        if (!started?.challenge) throw new Problem('not-found', NOT_STARTED);
        const created = await verifyCreation(relyingPartyOf(baseUrl), started.challenge, credential);
        const { handle } = await readUser(tx, actor.id);
        const user_handle = handle ?? passkeyChallenges.userHandleOf(actor.id);
        const added = await kysely(tx)
          .insertInto('passkeys')
          .values({ factor_id: started.id, user_handle, ...created })
          .onConflict((conflict) => conflict.column('credential_id').doNothing())
          .executeTakeFirst();
        // Of this or another user.
        if (added.numInsertedOrUpdatedRows === 0n) throw invalidPasskey();
        const factor = {
          id: started.id,
          kind: 'passkey' as const,
          name: name ?? describeUserAgent(userAgent),
        };
        const completed = { ...factor, methods: byPasskey(created.is_backed_up) };
        const recovery_codes = await completeEnrolment(unit, tx, { actor, ...change }, completed);
        return { factor: { ...factor, confirmed_at: now, last_used_at: null }, recovery_codes };
      }),
  };
};

/** `handle`: that of the passkeys which the user has, if any. */
const readUser = (tx: Em, userId: number) =>
  kysely(tx)
    .selectFrom('users')
    .select(['first_name', 'last_name'])
    .select((row) =>
      row
        .selectFrom('passkeys')
        .innerJoin('mfa_factors as factor', 'factor.id', 'passkeys.factor_id')
        .select('user_handle')
        .whereRef('factor.user_id', '=', 'users.id')
        .limit(1)
        .as('handle'),
    )
    .where('id', '=', userId)
    .executeTakeFirstOrThrow(() => new Problem('unauthenticated'));
