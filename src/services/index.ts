import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { CommonPasswords } from '../adapters/common-passwords.ts';
import type { PackageStore } from '../adapters/package-store.ts';
import type { PasswordHasher } from '../adapters/password-hasher.ts';
import type { Clock } from '../core/clock.ts';
import { createApiTokens } from './api-tokens.ts';
import { createAppPackages } from './app-packages.ts';
import { createApps } from './apps.ts';
import { createAudit, type Origin } from './audit.ts';
import { createAuditTrail } from './audit-trail.ts';
import { createBranding } from './branding.ts';
import { createClients } from './clients.ts';
import { createEnvironment, type Environment } from './environment.ts';
import { createIdentity } from './identity.ts';
import { createInvitationAcceptance } from './invitation-acceptance.ts';
import { createInvitationCare } from './invitation-care.ts';
import { createInvitations } from './invitations.ts';
import type { Links } from './links.ts';
import type { LoginCrowd } from './login-crowd.ts';
import type { LoginThrottle } from './login-throttle.ts';
import { createLogins } from './logins.ts';
import type { MailRoute } from './mail-links.ts';
import type { MailWriter } from './mail-writer.ts';
import { createMails } from './mails.ts';
import { createPasswordProof } from './password-proof.ts';
import { createPasswordResets } from './password-resets.ts';
import { createPasswords } from './passwords.ts';
import type { ResetThrottle } from './reset-throttle.ts';
import { createRoles } from './roles.ts';
import { createSavedFilters } from './saved-filters.ts';
import { createSessions } from './sessions.ts';
import { createSites } from './sites.ts';
import { createUsage } from './usage.ts';
import { createUsers } from './users.ts';

/** What lasts as long as the process, and what the settings say. */
export type ServiceDeps = {
  clock: Clock;
  hasher: PasswordHasher;
  commonPasswords: CommonPasswords;
  throttle: LoginThrottle;
  crowd: LoginCrowd;
  resetThrottle: ResetThrottle;
  store: PackageStore;
  links: Links;
  mailWriter: MailWriter;
  mailRoute: MailRoute;
  tokenIdleDays: number;
  invitationDays: number;
  environment: Environment;
};

/** The rules of the business over one unit of work: an entity manager that nobody else uses, and where it comes from. */
export const createServices = (em: SqlEntityManager, deps: ServiceDeps, origin: Origin) => {
  const audit = createAudit(origin, deps.clock);
  const common = { ...deps, em, origin, audit };
  const unit = { ...common, proof: createPasswordProof(common) };
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
    usage: createUsage(unit),
    savedFilters: createSavedFilters(unit),
    appPackages: createAppPackages(unit),
    environment: createEnvironment({ em, defaults: deps.environment }),
    auditTrail: createAuditTrail(unit),
    mails: createMails(unit),
  };
};

export type Services = ReturnType<typeof createServices>;
