import { createRead } from '../db/batched-reads.ts';
import type { Em } from '../db/kysely.ts';
import { createListReader } from '../db/list-pages.ts';
import type { DatabasePool } from '../db/pool.ts';
import { createRefusalLimit } from './audit/refusals.ts';
import { createCredentialLookup } from './auth/authentication.ts';
import { createAnonymousLimits, createLoginConcurrency, createLoginThrottle } from './auth/login-limits.ts';
import { createPasskeyChallenges } from './auth/passkeys.ts';
import { createDeviceCookies } from './auth/password-verification.ts';
import { createFactorSecrets } from './auth/totp.ts';
import { createErasureKeys } from './data-rights/erasure-keys.ts';
import { createOpeningLookup } from './gate/forward-auth.ts';
import { createKeyedMutex } from './idempotency/idempotency.ts';
import { createResponseEncryption } from './idempotency/response-encryption.ts';
import { createHourlyLimit } from './rate-limits/counters.ts';
import { createConnectionSecrets } from './sso/connections.ts';
import { createUsageWriteLimiter } from './usage/usage-recording.ts';
import { EMAIL_CHANGE_LIMIT } from './users/email-changes.ts';
import { DUPLICATE_LIMIT } from './users/user-creation.ts';
import { createAnyUserLoader } from './users/user-rows.ts';

type Deps = {
  pool: DatabasePool;
  fork: () => Em;
  secretKey: string;
};

export type SharedParts = ReturnType<typeof createSharedParts>;

/** Creates what the services of all requests share: access to the database, limits, keys and batched lookups. */
export const createSharedParts = ({ pool, fork, secretKey }: Deps) => {
  const read = createRead(pool);
  return {
    read,
    readList: createListReader(pool),
    throttle: createLoginThrottle(pool),
    deviceCookies: createDeviceCookies(secretKey),
    factorSecrets: createFactorSecrets(secretKey),
    passkeyChallenges: createPasskeyChallenges(secretKey),
    connectionSecrets: createConnectionSecrets(secretKey),
    loginConcurrency: createLoginConcurrency(),
    anonymousLimits: createAnonymousLimits(pool),
    refusalLimit: createRefusalLimit(),
    duplicateLimit: createHourlyLimit(pool, DUPLICATE_LIMIT),
    emailChangeLimit: createHourlyLimit(pool, EMAIL_CHANGE_LIMIT),
    lookUpCredential: createCredentialLookup(fork(), read),
    lookUpOpening: createOpeningLookup(fork(), read),
    loadAnyUser: createAnyUserLoader(fork(), read),
    usageWriteLimiter: createUsageWriteLimiter(),
    responseEncryption: createResponseEncryption(secretKey),
    keyedMutex: createKeyedMutex(),
    erasureKeys: createErasureKeys(secretKey),
  };
};
