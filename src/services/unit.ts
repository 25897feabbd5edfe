import type { CommonPasswords } from '../adapters/hashing/common-passwords.ts';
import type { PasswordHasher } from '../adapters/hashing/password-hasher.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import type { Db } from '../db/kysely.ts';
import type { Read, RunPipeline, Transact } from '../db/pipeline.ts';
import type { ReadTextRows } from '../db/text-rows.ts';
import type { Clock } from '../lib/clock.ts';
import type { KeyedLimit } from '../lib/keyed-limit.ts';
import type { Logger } from '../lib/logger.ts';
import type { Audit, Origin } from './audit/audit.ts';
import type { RefusalLimit } from './audit/refusals.ts';
import type { CredentialLookup } from './auth/credential-lookup.ts';
import type { LoginConcurrency, LoginThrottle, ResetThrottle } from './auth/login-limits.ts';
import type { PasswordVerification } from './auth/password-verification.ts';
import type { SignedLinks } from './auth/signed-links.ts';
import type { Environment } from './clients/sites.ts';
import type { ErasureKeys } from './data-rights/erasure-keys.ts';
import type { Idempotency } from './idempotency/idempotency.ts';
import type { ResponseEncryption } from './idempotency/response-encryption.ts';
import type { MailRoute } from './mail/mail-context.ts';
import type { MailWriter } from './mail/mail-writer.ts';
import type { UsageWriteLimiter } from './usage/usage-recording.ts';
import type { LoadAnyUser, UserLoader } from './users/user-loader.ts';

/** Dependencies of the whole process, and settings. */
export type ServiceDeps = {
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn'>;
  hasher: PasswordHasher;
  commonPasswords: CommonPasswords;
  throttle: LoginThrottle;
  loginConcurrency: LoginConcurrency;
  resetThrottle: ResetThrottle;
  refusalLimit: RefusalLimit;
  store: PackageStore;
  links: SignedLinks;
  mailWriter: MailWriter;
  mailRoute: MailRoute;
  tokenIdleDays: number;
  sessionMaxDays: number;
  lookUpCredential: CredentialLookup;
  read: Read;
  loadAnyUser: LoadAnyUser;
  invitationDays: number;
  usageRetentionDays: number;
  usageWriteLimiter: UsageWriteLimiter;
  environment: Environment;
  responseEncryption: ResponseEncryption;
  readRows: ReadTextRows;
  transact: Transact;
  runPipeline: RunPipeline;
  /** Serializes requests with the same idempotency key. */
  keyedMutex: KeyedLimit;
  /** How long a repeated request gets the stored response. */
  idempotencyHours: number;
  erasureKeys: ErasureKeys;
  /** Continues unfinished erasures in the background. */
  resumeErasures: () => void;
};

/** Dependencies shared by the services of one unit of work. Each service picks those that it uses. */
export type Unit = ServiceDeps & {
  em: Db;
  origin: Origin;
  audit: Audit;
  passwordVerification: PasswordVerification;
  idempotency: Idempotency;
  userLoader: UserLoader;
};
