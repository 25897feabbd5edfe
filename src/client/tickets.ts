/** Entry point of `@steward/client/tickets`: verifies the tickets with which Steward opens an app. */

import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import {
  JWKS_PATH,
  MAX_TICKET_SECONDS,
  REQUIRED_CLAIMS,
  readClaims,
  TICKET_ALGORITHM,
  type TicketActor,
  type TicketClaims,
} from '../lib/ticket-claims.ts';

export type { TicketActor, TicketClaims };

/**
 * `actor`: the person who looks at the app as the person of the ticket, or null. `readOnly`: whether the app must refuse all changes, and
 * record no usage.
 */
export type VerifiedTicket = TicketClaims & { actor: TicketActor | null; readOnly: boolean };

export type VerifyOptions = {
  /** The public address of Steward, as in its setting BASE_URL. */
  issuer: string;
  /** The slug of the app. */
  app: string;
  /** Where the public keys are. Default: `/.well-known/jwks.json` of the issuer. */
  jwksUrl?: string;
  /** How far the clocks of Steward and of this machine may differ, 30 seconds by default. */
  clockToleranceSeconds?: number;
  /** The current time, for tests. */
  now?: Date;
};

/**
 * `expired`, `not-yet-valid`: also if the clock of this machine is wrong. `keys-unavailable`: Steward does not answer, and no key is
 * cached; the ticket may be valid.
 */
export type TicketErrorCode =
  | 'expired'
  | 'not-yet-valid'
  | 'wrong-app'
  | 'wrong-issuer'
  | 'missing-claim'
  | 'wrong-algorithm'
  | 'unknown-key'
  | 'invalid-signature'
  | 'malformed'
  | 'keys-unavailable';

/** Why a ticket was refused. */
export class TicketError extends Error {
  readonly code: TicketErrorCode;

  constructor(code: TicketErrorCode, cause: unknown) {
    super(`The ticket was refused: ${code}.`, { cause });
    this.name = 'TicketError';
    this.code = code;
  }
}

const CLOCK_TOLERANCE_SECONDS = 30;

/**
 * Verifies a ticket with the public keys of Steward, which are cached.
 * @throws TicketError
 */
export const verifyTicket = async (ticket: string, options: VerifyOptions): Promise<VerifiedTicket> => {
  const { app, clockToleranceSeconds = CLOCK_TOLERANCE_SECONDS, now } = options;
  // Without them, the tickets of every app would be accepted.
  if (!app || !options.issuer) throw new TypeError('verifyTicket needs the issuer and the app.');
  const issuer = options.issuer.replace(/\/+$/, '');
  const getKey = keysAt(options.jwksUrl ?? issuer + JWKS_PATH);
  try {
    await jwtVerify<TicketClaims>(ticket, getKey, {
      algorithms: [TICKET_ALGORITHM],
      issuer,
      audience: app,
      requiredClaims: REQUIRED_CLAIMS,
      clockTolerance: clockToleranceSeconds,
      // Refuses tickets issued in the future: a clock that is behind must not prolong them.
      maxTokenAge: MAX_TICKET_SECONDS,
      ...(now && { currentDate: now }),
    });
    const claims = readClaims(ticket);
    return { ...claims, actor: claims.act, readOnly: claims.read_only };
  } catch (error) {
    throw new TicketError(codeOf(error), error);
  }
};

/** Equals the `max-age` of the keys. */
const FRESH_MS = 300_000;
/** Minimum time between two fetches, also after a failed one. */
const COOLDOWN_MS = 30_000;
const TIMEOUT_MS = 5_000;

const keySets = new Map<string, JWTVerifyGetKey>();

const keysAt = (url: string): JWTVerifyGetKey => {
  const known = keySets.get(url) ?? createKeySet(url);
  keySets.set(url, known);
  return known;
};

/** The keys at this address. While it is unreachable, the last known keys are used. */
const createKeySet = (url: string): JWTVerifyGetKey => {
  const remote = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: FRESH_MS,
    cooldownDuration: COOLDOWN_MS,
    timeoutDuration: TIMEOUT_MS,
  });
  let retryAt = 0;
  const findCached: JWTVerifyGetKey = (header, token) =>
    createLocalJWKSet(remote.jwks() ?? { keys: [] })(header, token);

  return async (header, token) => {
    if (performance.now() < retryAt && remote.jwks()) return findCached(header, token);
    try {
      return await remote(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) throw error;
      if (!remote.jwks()) throw new KeysUnavailable('The public keys cannot be fetched.', { cause: error });
      retryAt = performance.now() + COOLDOWN_MS;
      return findCached(header, token);
    }
  };
};

class KeysUnavailable extends Error {}

const codeOf = (error: unknown): TicketErrorCode => {
  if (error instanceof KeysUnavailable) return 'keys-unavailable';
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed) return codeOfClaim(error);
  if (error instanceof errors.JOSEAlgNotAllowed) return 'wrong-algorithm';
  if (error instanceof errors.JWKSNoMatchingKey) return 'unknown-key';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'invalid-signature';
  return 'malformed';
};

const codeOfClaim = ({ claim, reason }: errors.JWTClaimValidationFailed): TicketErrorCode => {
  if (reason === 'missing') return 'missing-claim';
  if (reason === 'check_failed' && claim === 'aud') return 'wrong-app';
  if (reason === 'check_failed' && claim === 'iss') return 'wrong-issuer';
  return reason === 'check_failed' && (claim === 'iat' || claim === 'nbf') ? 'not-yet-valid' : 'malformed';
};
