import type { CommonPasswords } from '../adapters/hashing/common-passwords.ts';
import type { PasswordHasher } from '../adapters/hashing/password-hasher.ts';
import type { IdentityProvider } from '../adapters/identity-provider/identity-provider.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import type { ReadTxtRecords } from '../adapters/txt-records.ts';
import { createRead, type Read } from '../db/batched-reads.ts';
import { compileOnce, type Em } from '../db/kysely.ts';
import { createListReader } from '../db/list-pages.ts';
import type { DatabasePool } from '../db/pool.ts';
import { createBatchLoader } from '../lib/batch-loader.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { VIEWS_ALL } from './access/visibility.ts';
import { type LoadAnyUser, visibleUsers } from './accounts/user-rows.ts';
import type { Audit, Origin } from './audit/audit.ts';
import { createRefusalLimit } from './audit/refusals.ts';
import { createCredentialLookup } from './auth/authentication.ts';
import type { FactorProofs } from './auth/factor-verification.ts';
import { createAnonymousLimits, createGuessLimits, createLoginConcurrency } from './auth/login-limits.ts';
import { createFactorSecrets } from './auth/one-time-codes.ts';
import { createPasskeyChallenges, type Passkeys } from './auth/passkeys.ts';
import type { PasswordVerification } from './auth/password-verification.ts';
import type { SignedLinks } from './auth/signed-links.ts';
import { createTokenUses } from './auth/token-uses.ts';
import type { Environment } from './clients/sites.ts';
import { createDirectoryRequestLog } from './directory/request-log.ts';
import type { EventHub } from './events/event-hub.ts';
import { createOpeningLookup } from './gate/forward-auth.ts';
import type { SigningKeys } from './gate/signing-keys.ts';
import { createKeyedMutex, type Idempotency } from './idempotency/idempotency.ts';
import { createResponseEncryption } from './idempotency/response-encryption.ts';
import type { MailWriter } from './mail/mail-writer.ts';
import type { MailRoute } from './outbox/mail-status.ts';
import type { StaffPolicy } from './policies/factor-policy.ts';
import { createHourlyLimit } from './rate-limits/counters.ts';
import { createConnectionSecrets } from './sso/connections.ts';
import { createLoginStates } from './sso/login-states.ts';
import { createErasureKeys } from './usage/erasure-keys.ts';
import { createUsageWriteLimiter } from './usage/usage-recording.ts';
import { EMAIL_CHANGE_LIMIT } from './users/email-changes.ts';
import { createWebhookSecrets, type SendMessage } from './webhooks/webhook-sending.ts';

type SharedDeps = {
  pool: DatabasePool;
  fork: () => Em;
  secretKey: string;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
};

type SharedParts = ReturnType<typeof createSharedParts>;

/** Creates the parts that the services of all requests share: access to the database, limits, keys, and batched lookups and writes. */
export const createSharedParts = ({ pool, fork, secretKey, clock, logger }: SharedDeps) => {
  const read = createRead(pool);
  return {
    read,
    readList: createListReader(pool),
    guessLimits: createGuessLimits(pool),
    factorSecrets: createFactorSecrets(secretKey),
    passkeyChallenges: createPasskeyChallenges(secretKey),
    connectionSecrets: createConnectionSecrets(secretKey),
    loginStates: createLoginStates(secretKey),
    webhookSecrets: createWebhookSecrets(secretKey),
    loginConcurrency: createLoginConcurrency(),
    anonymousLimits: createAnonymousLimits(pool),
    refusalLimit: createRefusalLimit(),
    emailChangeLimit: createHourlyLimit(pool, EMAIL_CHANGE_LIMIT),
    tokenUses: createTokenUses({ fork, clock, logger }),
    directoryRequests: createDirectoryRequestLog({ fork, clock, logger }),
    lookUpCredential: createCredentialLookup(fork(), read, clock),
    lookUpOpening: createOpeningLookup(fork(), read, clock),
    loadAnyUser: createAnyUserLoader(fork(), read, clock),
    usageWriteLimiter: createUsageWriteLimiter(),
    responseEncryption: createResponseEncryption(secretKey),
    keyedMutex: createKeyedMutex(),
    erasureKeys: createErasureKeys(secretKey),
  };
};

/** Dependencies of the whole process, and settings. */
export type ServiceDeps = SharedParts & {
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn'>;
  hasher: PasswordHasher;
  loadCommonPasswords: () => Promise<CommonPasswords>;
  store: PackageStore;
  identityProvider: IdentityProvider;
  readTxtRecords: ReadTxtRecords;
  sendMessage: SendMessage;
  webhookPrivateNetworks: boolean;
  links: SignedLinks;
  mailWriter: MailWriter;
  mailRoute: MailRoute;
  signingKeys: SigningKeys;
  eventHub: EventHub;
  /** Public address of the service. */
  baseUrl: string;
  /** URL template with `{slug}` or `{id}`, for apps without `launch_url`. */
  appUrl: string;
  /** Lifetime of a ticket. */
  ticketSeconds: number;
  tokenIdleDays: number;
  sessionMaxDays: number;
  staffSecondFactor: StaffPolicy;
  /** Minimum for all passwords, regardless of a client's policy. */
  passwordMinLength: number;
  /** How long an invitation is valid. */
  invitationMs: number;
  usageRetentionDays: number;
  environment: Environment;
  /** How long a repeated request gets the stored response. */
  idempotencyHours: number;
  /** Continues unfinished erasures in the background. */
  resumeErasures: () => void;
  /** How long a request waits for an erasure to finish; afterwards the erasure continues in the background. */
  erasurePatienceMs: number;
};

/** Dependencies shared by the services of one unit of work. Each service picks the ones that it uses. */
export type UnitOfWork = ServiceDeps & {
  em: Em;
  origin: Origin;
  audit: Audit;
  passwordVerification: PasswordVerification;
  passkeys: Passkeys;
  factorProofs: FactorProofs;
  idempotency: Idempotency;
};

/** Batches lookups of one event-loop tick, like DataLoader. */
const createAnyUserLoader = (em: Em, read: Read, clock: Clock): LoadAnyUser => {
  const users = compileOnce(visibleUsers(em, VIEWS_ALL, clock.now(), []));
  return createBatchLoader(
    async (emails: readonly string[]) =>
      new Map((await read(users(clock.now(), emails))).map((row) => [row.email, row])),
  );
};
