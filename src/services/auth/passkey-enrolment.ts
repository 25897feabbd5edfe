import { type Em, kysely } from '../../db/kysely.ts';
import { newSecret } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import { describeUserAgent } from '../../lib/user-agent.ts';
import type { Actor } from '../access/actor.ts';
import { type AuthMethod, byPasskey } from '../access/auth-methods.ts';
import { strengthOf } from '../policies/factor-policy.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { hasSecondFactor } from './credentials.ts';
import {
  addFactorAtLogin,
  changeOwnFactors,
  completeEnrolment,
  findEnrolment,
  readServiceName,
  startEnrolment,
} from './factor-enrolment.ts';
import type { CodeOwner } from './factor-verification.ts';
import { PASSKEY_MS, readDescriptors } from './passkeys.ts';
import {
  creationOptions,
  invalidPasskey,
  type NewCredential,
  relyingPartyOf,
  verifyCreation,
} from './webauthn.ts';

const NOT_STARTED = {
  detail:
    'No passkey is being added, or it took too long. Start again with POST /api/v1/mfa/passkeys/options/.',
};

type NewPasskey = {
  credential: NewCredential;
  /** Undefined: the passkey is named after the browser. */
  name: string | undefined;
  userAgent: string;
};

/** Adds passkeys to the account of the actor. */
export const createPasskeyEnrolment = (unit: UnitOfWork) => {
  return {
    /**
     * Starts the enrolment of a passkey, which counts after `add`. Another start replaces it.
     * @param host names the client, which authenticators show
     * @throws Problem `reauthentication-required`, `passkeys-unavailable`, `invalid-input`
     */
    start: (actor: Actor, host: string) =>
      changeOwnFactors(unit, actor, async (tx, { now }) => {
        const challenge = newSecret();
        const factor = { user_id: actor.id, kind: 'passkey', name: '', challenge, created_at: now } as const;
        await startEnrolment(tx, factor);
        return readCreationOptions(unit, tx, { user: actor, challenge, host, timeoutMs: PASSKEY_MS });
      }),

    /**
     * Adds the passkey that a browser has created for the started enrolment. The actor's other sessions must then be confirmed with a
     * second factor.
     * @returns the factor, and the fields of `Enrolment`
     * @throws Problem `reauthentication-required`, `not-found`, `invalid-passkey`
     */
    add: (actor: Actor, { credential, name, userAgent }: NewPasskey) =>
      changeOwnFactors(unit, actor, async (tx, change) => {
        const { now } = change;
        const started = await findEnrolment(tx, actor.id, 'passkey', new Date(now.getTime() - PASSKEY_MS));
        if (!started?.challenge) throw new Problem('not-found', NOT_STARTED);
        const created = await verifyCreation(relyingPartyOf(unit.baseUrl), started.challenge, credential);
        await addPasskey(unit, tx, { userId: actor.id, factorId: started.id, created });
        started.name = name ?? describeUserAgent(userAgent);
        const methods = byPasskey(created.is_backed_up);
        const enrolment = await completeEnrolment(unit, tx, { actor, ...change }, started, methods);
        const { id, kind, name: given } = started;
        return { factor: { id, kind, name: given, confirmed_at: now, last_used_at: null }, ...enrolment };
      }),
  };
};

type Deps = Pick<UnitOfWork, 'baseUrl' | 'passkeyChallenges' | 'audit' | 'origin'>;

type Creation = {
  user: { id: number; email: string };
  challenge: string;
  timeoutMs: number;
  /** Names the client, which authenticators show. */
  host: string;
};

/**
 * The options with which a browser creates a passkey for a user.
 * @throws Problem `passkeys-unavailable`
 */
export const readCreationOptions = async (
  { baseUrl, passkeyChallenges }: Deps,
  em: Em,
  { user: { id, email }, challenge, timeoutMs, host }: Creation,
) => {
  const relyingParty = relyingPartyOf(baseUrl);
  const { first_name, last_name, handle } = await readUser(em, id);
  const fullName = `${first_name} ${last_name}`.trim();
  const user = { handle: handle ?? passkeyChallenges.userHandleOf(id), email, fullName };
  const serviceName = await readServiceName(em, host);
  const existing = await readDescriptors(em, id);
  return creationOptions(relyingParty, { challenge, timeoutMs, serviceName, user, existing });
};

type LoginPasskey = {
  user: CodeOwner;
  /** The methods proven so far in this login. */
  methods: readonly string[];
  challenge: string;
  credential: NewCredential;
  userAgent: string;
  now: Date;
};

/**
 * Adds a passkey for a locked user during a login.
 * @returns what it proves, and ten recovery codes if it is the first factor, otherwise none
 * @throws Problem `invalid-passkey`; `invalid-challenge` if the user has a second factor by now that they have not used in this login
 */
export const addPasskeyAtLogin = async (
  deps: Deps,
  tx: Em,
  { user, methods, challenge, credential, userAgent, now }: LoginPasskey,
): Promise<{ codes: string[]; proven: readonly AuthMethod[] }> => {
  if (strengthOf(methods) === 0 && (await hasSecondFactor(tx, user.id)))
    throw new Problem('invalid-challenge');
  const created = await verifyCreation(relyingPartyOf(deps.baseUrl), challenge, credential);
  const factor = { kind: 'passkey', name: describeUserAgent(userAgent) } as const;
  const { id: factorId, codes } = await addFactorAtLogin(deps, tx, { user, now, factor });
  await addPasskey(deps, tx, { userId: user.id, factorId, created });
  return { codes, proven: byPasskey(created.is_backed_up) };
};

type Added = { userId: number; factorId: number; created: Awaited<ReturnType<typeof verifyCreation>> };

/** @throws Problem `invalid-passkey` if this or another user already has it */
const addPasskey = async (
  { passkeyChallenges }: Deps,
  tx: Em,
  { userId, factorId, created }: Added,
): Promise<void> => {
  const { handle } = await readUser(tx, userId);
  const user_handle = handle ?? passkeyChallenges.userHandleOf(userId);
  const added = await kysely(tx)
    .insertInto('passkeys')
    .values({ factor_id: factorId, user_handle, ...created })
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .executeTakeFirst();
  if (added.numInsertedOrUpdatedRows === 0n) throw invalidPasskey();
};

/** `handle`: the handle of the user's present passkeys, if any. */
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
