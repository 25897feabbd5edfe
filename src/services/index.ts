import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { CommonPasswords } from '../adapters/hashing/common-passwords.ts';
import type { PasswordHasher } from '../adapters/hashing/password-hasher.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import type { Read } from '../db/batched-reads.ts';
import type { Transact } from '../db/pipelined-transaction.ts';
import type { ReadRows } from '../db/row-cursor.ts';
import type { Clock } from '../lib/clock.ts';
import type { KeyedMutex } from '../lib/keyed-mutex.ts';
import { lazyProperties } from '../lib/lazy-properties.ts';
import type { Logger } from '../lib/logger.ts';
import { createResourceLocks } from './access/resource-locks.ts';
import { createAppStacks } from './apps/app-stacks.ts';
import { createAppStatus } from './apps/app-status.ts';
import { createApps } from './apps/apps.ts';
import { createSavedFilters } from './apps/saved-filters.ts';
import { createAudit, type Origin } from './audit/audit.ts';
import { createAuditTrail } from './audit/audit-trail.ts';
import { createRefusals, type RefusalLimit } from './audit/refusals.ts';
import { createApiTokens } from './auth/api-tokens.ts';
import type { CredentialLookup } from './auth/credential-lookup.ts';
import { createIdentity } from './auth/identity.ts';
import type { LoginConcurrency } from './auth/login-concurrency.ts';
import type { LoginThrottle } from './auth/login-throttle.ts';
import { createLogins } from './auth/logins.ts';
import { createPasswordVerification } from './auth/password-verification.ts';
import type { ResetThrottle } from './auth/reset-throttle.ts';
import { createSessions } from './auth/sessions.ts';
import type { SignedLinks } from './auth/signed-links.ts';
import { createBranding } from './clients/branding.ts';
import { createClients } from './clients/clients.ts';
import { createEnvironment, type Environment } from './clients/environment.ts';
import { createSites } from './clients/sites.ts';
import { createIdempotency } from './idempotency/idempotency.ts';
import type { ResponseEncryption } from './idempotency/response-encryption.ts';
import { createInvitationAcceptance } from './invitations/invitation-acceptance.ts';
import { createInvitationLifecycle } from './invitations/invitation-lifecycle.ts';
import { createInvitations } from './invitations/invitations.ts';
import type { MailRoute } from './mail/mail-links.ts';
import type { MailWriter } from './mail/mail-writer.ts';
import { createMails } from './mail/mails.ts';
import { createAppPackages } from './packages/app-packages.ts';
import { createAppVersions } from './packages/app-versions.ts';
import { createPasswordResets } from './passwords/password-resets.ts';
import { createPasswords } from './passwords/passwords.ts';
import { createUsage } from './usage/usage.ts';
import { createUsageRecording } from './usage/usage-recording.ts';
import { createUsageStats } from './usage/usage-stats.ts';
import type { UsageWriteLimiter } from './usage/write-limiter.ts';
import { createRoles } from './users/roles.ts';
import { createUserLoader, type LoadAnyUser } from './users/user-loader.ts';
import { createUsers } from './users/users.ts';

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
  readRows: ReadRows;
  transact: Transact;
  /** Serializes requests with the same idempotency key. */
  keyedMutex: KeyedMutex;
};

/** Dependencies shared by the services of one unit of work. */
const createUnit = (em: SqlEntityManager, deps: ServiceDeps, origin: Origin) => {
  const common = { ...deps, em, origin, audit: createAudit(origin, deps.clock) };
  return {
    ...common,
    passwordVerification: createPasswordVerification(common),
    idempotency: createIdempotency(common),
    userLoader: createUserLoader(common),
  };
};

type Unit = ReturnType<typeof createUnit>;

const factories = {
  identity: createIdentity,
  logins: createLogins,
  sessions: createSessions,
  apiTokens: createApiTokens,
  passwords: createPasswords,
  passwordResets: createPasswordResets,
  branding: createBranding,
  sites: createSites,
  clients: createClients,
  users: createUsers,
  roles: createRoles,
  invitations: createInvitations,
  invitationLifecycle: createInvitationLifecycle,
  invitationAcceptance: createInvitationAcceptance,
  apps: createApps,
  appStacks: createAppStacks,
  appStatus: createAppStatus,
  appVersions: createAppVersions,
  usage: createUsage,
  usageStats: createUsageStats,
  usageRecording: createUsageRecording,
  savedFilters: createSavedFilters,
  appPackages: createAppPackages,
  environment: ({ em, environment: defaults }: Unit) => createEnvironment({ em, defaults }),
  auditTrail: createAuditTrail,
  refusals: createRefusals,
  mails: createMails,
  idempotency: ({ idempotency }: Unit) => idempotency,
  resourceLocks: createResourceLocks,
};

export type Services = { readonly [K in keyof typeof factories]: ReturnType<(typeof factories)[K]> };

const fromUnit = lazyProperties<Unit, Services>(factories);

/**
 * Creates the services of one unit of work, which has its own entity manager. Each service is created on first use, because
 * a request needs two or three of them.
 */
export const createServices = (em: SqlEntityManager, deps: ServiceDeps, origin: Origin): Services =>
  fromUnit(createUnit(em, deps, origin));
