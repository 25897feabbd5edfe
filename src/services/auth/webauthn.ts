import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { Problem } from '../../lib/problems.ts';
import { hasPasskeys } from '../../lib/urls.ts';

/** Loaded on first use: most installations start without passkeys. */
const load = () => import('@simplewebauthn/server');
const loadHelpers = () => import('@simplewebauthn/server/helpers');

/** The response of an authenticator that has created a key, as browsers write it in JSON. */
export type NewCredential = RegistrationResponseJSON;

/** The response of an authenticator that has signed a challenge. */
export type Assertion = AuthenticationResponseJSON;

/** The site that passkeys belong to: `id` is its host. No other origin can use them. */
export type RelyingParty = { id: string; origin: string };

const NO_PASSKEYS = {
  detail:
    'Browsers have passkeys for sites with https and a host name only, and for localhost. See BASE_URL.',
};

/** Whether browsers support passkeys on pages of this host (with its port). */
export const hasPasskeysAt = (baseUrl: string, host: string): boolean => {
  const url = new URL(baseUrl);
  return hasPasskeys(url) && url.host === host;
};

/**
 * The relying party of a service with this address.
 * @throws Problem `passkeys-unavailable`
 */
export const relyingPartyOf = (baseUrl: string): RelyingParty => {
  const url = new URL(baseUrl);
  if (!hasPasskeys(url)) throw new Problem('passkeys-unavailable', NO_PASSKEYS);
  return { id: url.hostname, origin: url.origin };
};

/** The data by which browsers find a passkey. */
export type Descriptor = { credential_id: string; transports: string[] };

const describe = ({ credential_id: id, transports }: Descriptor) => ({
  type: 'public-key' as const,
  id,
  transports,
});

/** EdDSA, ES256 and RS256 (RFC 9053 §2, RFC 8812 §2): every authenticator has one of them. */
const ALGORITHMS = [-8, -7, -257];

type Creation = {
  challenge: string;
  timeoutMs: number;
  serviceName: string;
  user: { handle: string; email: string; fullName: string };
  /** The user's present passkeys: an authenticator with one of them must not create a second one. */
  existing: readonly Descriptor[];
};

/** The options with which a browser creates a passkey. The authenticator must verify the user, and store the account with the key. */
export const creationOptions = ({ id }: RelyingParty, creation: Creation) => {
  const { challenge, timeoutMs, serviceName, user, existing } = creation;
  return {
    rp: { id, name: serviceName },
    user: { id: user.handle, name: user.email, displayName: user.fullName || user.email },
    challenge,
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key' as const, alg })),
    timeout: timeoutMs,
    excludeCredentials: existing.map(describe),
    authenticatorSelection: {
      residentKey: 'required' as const,
      requireResidentKey: true as const,
      userVerification: 'required' as const,
    },
    attestation: 'none' as const,
  };
};

type Request = {
  challenge: string;
  timeoutMs: number;
  /** Empty: any passkey of this site. */
  allowed: readonly Descriptor[];
};

/** The options with which a browser signs a challenge by a passkey. */
export const requestOptions = ({ id }: RelyingParty, { challenge, timeoutMs, allowed }: Request) => ({
  rpId: id,
  challenge,
  timeout: timeoutMs,
  allowCredentials: allowed.map(describe),
  userVerification: 'required' as const,
});

/** Refuses without a reason: callers must not learn whether the passkey, the challenge or the signature was wrong. */
export const invalidPasskey = (cause?: unknown): Problem => new Problem('invalid-passkey', { cause });

/** The library fails with plain errors for every kind of wrong response. */
const refuse = (cause: unknown): never => {
  throw invalidPasskey(cause);
};

/**
 * Verifies a new passkey (Web Authentication Level 3, §7.1).
 * @throws Problem `invalid-passkey`
 */
export const verifyCreation = async (
  { id, origin }: RelyingParty,
  challenge: string,
  credential: NewCredential,
) => {
  await requireNoAttestation(credential).catch(refuse);
  const { verifyRegistrationResponse } = await load();
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: credential,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(refuse);
  if (!verified) throw invalidPasskey();
  const { credential: created, credentialBackedUp, aaguid } = registrationInfo;
  return {
    credential_id: created.id,
    public_key: Buffer.from(created.publicKey),
    sign_count: created.counter,
    transports: created.transports ?? [],
    is_backed_up: credentialBackedUp,
    aaguid,
  };
};

/**
 * No attestation is requested, so browsers remove it, unless it is a self attestation. Any other is refused: to verify it, the library
 * would fetch addresses from its certificates.
 */
const requireNoAttestation = async ({ response }: NewCredential): Promise<void> => {
  const { decodeAttestationObject, isoBase64URL } = await loadHelpers();
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject));
  const format = attestation.get('fmt');
  const isSelfSigned = format === 'packed' && attestation.get('attStmt').get('x5c') === undefined;
  if (format !== 'none' && !isSelfSigned) throw new Error(`Unexpected attestation ${format}`);
};

/**
 * Verifies the signature of a challenge (§7.2). Refuses a passkey whose count of signatures has not grown: it may be a copy.
 * @throws Problem `invalid-passkey`
 */
export const verifyAssertion = async (
  { id, origin }: RelyingParty,
  challenge: string,
  { assertion, publicKey, signCount }: { assertion: Assertion; publicKey: Uint8Array; signCount: number },
): Promise<{ signCount: number; isBackedUp: boolean }> => {
  const { verifyAuthenticationResponse } = await load();
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: assertion,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: true,
    credential: { id: assertion.id, publicKey: new Uint8Array(publicKey), counter: signCount },
  }).catch(refuse);
  if (!verified) throw invalidPasskey();
  return { signCount: authenticationInfo.newCounter, isBackedUp: authenticationInfo.credentialBackedUp };
};
