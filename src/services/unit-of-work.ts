import type { CommonPasswords } from '../adapters/hashing/common-passwords.ts';
import type { PasswordHasher } from '../adapters/hashing/password-hasher.ts';
import type { IdentityProvider } from '../adapters/identity-provider/identity-provider.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import type { ReadTxtRecords } from '../adapters/txt-records.ts';
import type { Em } from '../db/kysely.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Audit, Origin } from './audit/audit.ts';
import type { StaffPolicy } from './auth/factor-policy.ts';
import type { FactorProofs } from './auth/factor-proofs.ts';
import type { Passkeys } from './auth/passkeys.ts';
import type { PasswordVerification } from './auth/password-verification.ts';
import type { SignedLinks } from './auth/signed-links.ts';
import type { Environment } from './clients/sites.ts';
import type { SigningKeys } from './gate/signing-keys.ts';
import type { Idempotency } from './idempotency/idempotency.ts';
import type { MailRoute } from './mail/mail-context.ts';
import type { MailWriter } from './mail/mail-writer.ts';
import type { SharedParts } from './shared-parts.ts';

/** Dependencies of the whole process, and settings. */
export type ServiceDeps = SharedParts & {
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn'>;
  hasher: PasswordHasher;
  loadCommonPasswords: () => Promise<CommonPasswords>;
  store: PackageStore;
  identityProvider: IdentityProvider;
  readTxtRecords: ReadTxtRecords;
  links: SignedLinks;
  mailWriter: MailWriter;
  mailRoute: MailRoute;
  signingKeys: SigningKeys;
  /** Public address of the service. */
  baseUrl: string;
  /** Template with `{slug}` or `{id}`, for apps that have no `launch_url`. */
  appUrl: string;
  /** Lifetime of a ticket. */
  ticketSeconds: number;
  tokenIdleDays: number;
  sessionMaxDays: number;
  staffSecondFactor: StaffPolicy;
  invitationDays: number;
  usageRetentionDays: number;
  environment: Environment;
  /** How long a repeated request gets the stored response. */
  idempotencyHours: number;
  /** Continues unfinished erasures in the background. */
  resumeErasures: () => void;
};

/** A transaction of a unit of work, its time, and the audit trail that it writes. */
export type Transaction = { tx: Em; now: Date; audit: Audit };

/** Dependencies shared by the services of one unit of work. Each service picks those that it uses. */
export type UnitOfWork = ServiceDeps & {
  em: Em;
  origin: Origin;
  audit: Audit;
  passwordVerification: PasswordVerification;
  passkeys: Passkeys;
  factorProofs: FactorProofs;
  idempotency: Idempotency;
};
