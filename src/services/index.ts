import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { CommonPasswords } from '../adapters/common-passwords.ts';
import type { Read } from '../adapters/database-reads.ts';
import type { ReadRows } from '../adapters/database-rows.ts';
import type { Transact } from '../adapters/database-transactions.ts';
import type { PackageStore } from '../adapters/package-store.ts';
import type { PasswordHasher } from '../adapters/password-hasher.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Turns } from '../core/turns.ts';
import type { AnswerSeal } from './answer-seal.ts';
import { createAppStacks } from './apps/app-stacks.ts';
import { createAppStatus } from './apps/app-status.ts';
import { createApps } from './apps/apps.ts';
import { createSavedFilters } from './apps/saved-filters.ts';
import { createAudit, type Origin } from './audit/audit.ts';
import { createAuditTrail } from './audit/audit-trail.ts';
import { createRefusals, type RefusalLimit } from './audit/refusals.ts';
import { createIdempotency } from './idempotency.ts';
import { createInvitationAcceptance } from './invitations/invitation-acceptance.ts';
import { createInvitationCare } from './invitations/invitation-care.ts';
import { createInvitations } from './invitations/invitations.ts';
import type { Links } from './links.ts';
import { createApiTokens } from './logins/api-tokens.ts';
import type { CredentialOwners } from './logins/credential-owners.ts';
import { createIdentity } from './logins/identity.ts';
import type { LoginCrowd } from './logins/login-crowd.ts';
import type { LoginThrottle } from './logins/login-throttle.ts';
import { createLogins } from './logins/logins.ts';
import { createPasswordProof } from './logins/password-proof.ts';
import type { ResetThrottle } from './logins/reset-throttle.ts';
import { createSessions } from './logins/sessions.ts';
import type { MailRoute } from './mail/mail-links.ts';
import type { MailWriter } from './mail/mail-writer.ts';
import { createMails } from './mail/mails.ts';
import { createAppPackages } from './packages/app-packages.ts';
import { createAppVersions } from './packages/app-versions.ts';
import { createPasswordResets } from './passwords/password-resets.ts';
import { createPasswords } from './passwords/passwords.ts';
import { createRoles } from './people/roles.ts';
import { createUserReading, type ReadAnyUser } from './people/user-reading.ts';
import { createUsers } from './people/users.ts';
import { createResourceLocks } from './resource-locks.ts';
import { createBranding } from './tenants/branding.ts';
import { createClients } from './tenants/clients.ts';
import { createEnvironment, type Environment } from './tenants/environment.ts';
import { createSites } from './tenants/sites.ts';
import { createUsage } from './usage/usage.ts';
import { createUsageCharts } from './usage/usage-charts.ts';
import { createUsageRecording } from './usage/usage-recording.ts';
import type { UsageWriters } from './usage/usage-writers.ts';

/** What lasts as long as the process, and what the settings say. */
export type ServiceDeps = {
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn'>;
  hasher: PasswordHasher;
  commonPasswords: CommonPasswords;
  throttle: LoginThrottle;
  crowd: LoginCrowd;
  resetThrottle: ResetThrottle;
  refusalLimit: RefusalLimit;
  store: PackageStore;
  links: Links;
  mailWriter: MailWriter;
  mailRoute: MailRoute;
  tokenIdleDays: number;
  sessionMaxDays: number;
  ownerOf: CredentialOwners;
  read: Read;
  readAnyUser: ReadAnyUser;
  invitationDays: number;
  usageRetentionDays: number;
  usageWriters: UsageWriters;
  environment: Environment;
  answerSeal: AnswerSeal;
  readRows: ReadRows;
  transact: Transact;
  /** Requests that name themselves by the same key, one by one. */
  turns: Turns;
};

/** The rules of the business over one unit of work: an entity manager that nobody else uses, and where it comes from. */
export const createServices = (em: SqlEntityManager, deps: ServiceDeps, origin: Origin) => {
  const audit = createAudit(origin, deps.clock);
  const common = { ...deps, em, origin, audit };
  const unit = {
    ...common,
    proof: createPasswordProof(common),
    idempotency: createIdempotency(common),
    reading: createUserReading(common),
  };
  return {
    identity: createIdentity(unit),
    logins: createLogins(unit),
    sessions: createSessions(unit),
    apiTokens: createApiTokens(unit),
    passwords: createPasswords(unit),
    passwordResets: createPasswordResets(unit),
    branding: createBranding(unit),
    sites: createSites(unit),
    clients: createClients(unit),
    users: createUsers(unit),
    roles: createRoles(unit),
    invitations: createInvitations(unit),
    invitationCare: createInvitationCare(unit),
    invitationAcceptance: createInvitationAcceptance(unit),
    apps: createApps(unit),
    appStacks: createAppStacks(unit),
    appStatus: createAppStatus(unit),
    appVersions: createAppVersions(unit),
    usage: createUsage(unit),
    usageCharts: createUsageCharts(unit),
    usageRecording: createUsageRecording(unit),
    savedFilters: createSavedFilters(unit),
    appPackages: createAppPackages(unit),
    environment: createEnvironment({ em, defaults: deps.environment }),
    auditTrail: createAuditTrail(unit),
    refusals: createRefusals(unit),
    mails: createMails(unit),
    idempotency: unit.idempotency,
    resourceLocks: createResourceLocks(unit),
  };
};

export type Services = ReturnType<typeof createServices>;
