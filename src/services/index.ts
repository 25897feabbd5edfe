import type { Em } from '../db/kysely.ts';
import { createApps } from './apps/apps.ts';
import { createFilterSharing } from './apps/filter-sharing.ts';
import { createSavedFilters } from './apps/saved-filters.ts';
import { createSharedFilters } from './apps/shared-filters.ts';
import { createAttention } from './attention/attention.ts';
import { createSetup } from './attention/setup.ts';
import { createAudit, NO_ORIGIN, type Origin } from './audit/audit.ts';
import { createAuditTrail } from './audit/audit-trail.ts';
import { createRefusals } from './audit/refusals.ts';
import { createApiTokens, createTokenRefresh } from './auth/api-tokens.ts';
import { createAuthentication } from './auth/authentication.ts';
import { createSecondFactors } from './auth/factor-management.ts';
import { createFactorPolicies } from './auth/factor-policies.ts';
import { createFactorProofs } from './auth/factor-verification.ts';
import { createIdentities } from './auth/identities.ts';
import { createLogins } from './auth/logins.ts';
import { createPasskeyEnrolment } from './auth/passkey-enrolment.ts';
import { createPasskeys } from './auth/passkeys.ts';
import { createPasswordVerification } from './auth/password-verification.ts';
import { createServiceAccounts } from './auth/service-accounts.ts';
import { createSessions } from './auth/sessions.ts';
import { createTotpEnrolment } from './auth/totp-enrolment.ts';
import { createClients } from './clients/clients.ts';
import { createDomains } from './clients/domains.ts';
import { createBranding, createEnvironment, createSites } from './clients/sites.ts';
import { createClientAttributes } from './data-permissions/client-attributes.ts';
import { createDataPermissions } from './data-permissions/reports.ts';
import { createErasures } from './data-rights/erasures.ts';
import { createUserExports } from './data-rights/user-exports.ts';
import { createDirectories } from './directory/directories.ts';
import { createDirectoryGroups } from './directory/groups.ts';
import { createDirectoryHolds } from './directory/holds.ts';
import { createDirectoryPeople } from './directory/people.ts';
import { createEvents } from './events/events.ts';
import { createAccessExplanation } from './gate/access-explanation.ts';
import { createAccessViewChanges } from './gate/access-view-changes.ts';
import { createAccessViews } from './gate/access-views.ts';
import { createOneTimeViews } from './gate/embeds.ts';
import { createForwardAuth } from './gate/forward-auth.ts';
import { createLaunches } from './gate/launches.ts';
import { createLooks } from './gate/looks.ts';
import { createKeyRotation } from './gate/signing-keys.ts';
import { createTicketRevocations } from './gate/ticket-revocations.ts';
import { createTickets } from './gate/tickets.ts';
import { createViewOpening } from './gate/view-opening.ts';
import { createIdempotency } from './idempotency/idempotency.ts';
import { createInvitationAcceptance } from './invitations/invitation-acceptance.ts';
import { createInvitations } from './invitations/invitations.ts';
import { createMails } from './mail/mails.ts';
import { createOpenidApps } from './openid/openid-apps.ts';
import { createOpenidLogins } from './openid/openid-logins.ts';
import { createOpenidTokens } from './openid/openid-tokens.ts';
import { createBulkInvitations } from './operations/bulk-invitations.ts';
import { createBulkUpdates } from './operations/bulk-update.ts';
import { createOperations } from './operations/operations.ts';
import { createAppPackages } from './packages/app-packages.ts';
import { createPasswordResets } from './passwords/password-resets.ts';
import { createPasswords } from './passwords/passwords.ts';
import { createReminders } from './reminders/reminders.ts';
import { createRemovals } from './removals/removals.ts';
import { createResourceLocks } from './resource-locks.ts';
import { createConnections } from './sso/connections.ts';
import { createProviderLogouts } from './sso/logouts.ts';
import { createSsoLogins } from './sso/provider-logins.ts';
import type { ServiceDeps, UnitOfWork } from './unit-of-work.ts';
import { createUsage } from './usage/usage.ts';
import { createUsageRecording } from './usage/usage-recording.ts';
import { createUsageReports } from './usage/usage-report.ts';
import { createUsageStats } from './usage/usage-stats.ts';
import { createAccessMatrix } from './users/access-matrix.ts';
import { createAccessRequests } from './users/access-requests.ts';
import { createClientRoles } from './users/client-roles.ts';
import { createEmailChanges } from './users/email-changes.ts';
import { createEmailLinks } from './users/email-links.ts';
import { createGrants } from './users/grants.ts';
import { createGroups } from './users/groups.ts';
import { createListViews } from './users/list-views.ts';
import { createMemberships } from './users/memberships.ts';
import { createOffboardingPreview } from './users/offboarding-preview.ts';
import { createRoles } from './users/roles.ts';
import { createScreens } from './users/screens.ts';
import { createUserCreation } from './users/user-creation.ts';
import { createProfiles, createUserUpdates } from './users/user-update.ts';
import { createUsers } from './users/users.ts';
import { createWebhookDeliveries } from './webhooks/deliveries.ts';
import { createWebhooks } from './webhooks/webhooks.ts';

const createUnit = (em: Em, deps: ServiceDeps, origin: Origin): UnitOfWork => {
  const unit: UnitOfWork = {
    ...deps,
    em,
    origin,
    audit: createAudit(origin, deps.clock),
    // Few requests need these.
    get passwordVerification() {
      return createPasswordVerification(unit);
    },
    get passkeys() {
      return createPasskeys(unit);
    },
    get factorProofs() {
      return createFactorProofs(unit);
    },
    get idempotency() {
      return createIdempotency(unit);
    },
  };
  return unit;
};

const factories = {
  authentication: createAuthentication,
  logins: createLogins,
  sessions: createSessions,
  apiTokens: createApiTokens,
  tokenRefresh: createTokenRefresh,
  serviceAccounts: createServiceAccounts,
  secondFactors: createSecondFactors,
  totpEnrolment: createTotpEnrolment,
  passkeyEnrolment: createPasskeyEnrolment,
  passkeys: ({ passkeys }: UnitOfWork) => passkeys,
  connections: createConnections,
  domains: createDomains,
  ssoLogins: createSsoLogins,
  ssoLogouts: createProviderLogouts,
  identities: createIdentities,
  passwords: createPasswords,
  passwordResets: createPasswordResets,
  branding: createBranding,
  sites: createSites,
  clients: createClients,
  factorPolicies: createFactorPolicies,
  reminders: createReminders,
  removals: createRemovals,
  users: createUsers,
  userCreation: createUserCreation,
  userUpdates: createUserUpdates,
  profiles: createProfiles,
  emailChanges: createEmailChanges,
  emailLinks: createEmailLinks,
  memberships: createMemberships,
  grants: createGrants,
  groups: createGroups,
  accessRequests: createAccessRequests,
  clientRoles: createClientRoles,
  roles: createRoles,
  erasures: createErasures,
  userExports: createUserExports,
  invitations: createInvitations,
  invitationAcceptance: createInvitationAcceptance,
  apps: createApps,
  tickets: createTickets,
  ticketRevocations: createTicketRevocations,
  forwardAuth: createForwardAuth,
  launches: createLaunches,
  looks: createLooks,
  keyRotation: createKeyRotation,
  usage: createUsage,
  usageStats: createUsageStats,
  usageReports: createUsageReports,
  usageRecording: createUsageRecording,
  savedFilters: createSavedFilters,
  filterSharing: createFilterSharing,
  sharedFilters: createSharedFilters,
  listViews: createListViews,
  appPackages: createAppPackages,
  environment: createEnvironment,
  auditTrail: createAuditTrail,
  events: createEvents,
  webhooks: createWebhooks,
  webhookDeliveries: createWebhookDeliveries,
  refusals: createRefusals,
  mails: createMails,
  attention: createAttention,
  setup: createSetup,
  bulkUpdates: createBulkUpdates,
  bulkInvitations: createBulkInvitations,
  accessMatrix: createAccessMatrix,
  accessExplanation: createAccessExplanation,
  clientAttributes: createClientAttributes,
  dataPermissions: createDataPermissions,
  screens: createScreens,
  offboardingPreview: createOffboardingPreview,
  operations: createOperations,
  directories: createDirectories,
  directoryHolds: createDirectoryHolds,
  directoryPeople: createDirectoryPeople,
  directoryGroups: createDirectoryGroups,
  openidApps: createOpenidApps,
  openidLogins: createOpenidLogins,
  openidTokens: createOpenidTokens,
  accessViews: createAccessViews,
  accessViewChanges: createAccessViewChanges,
  oneTimeViews: createOneTimeViews,
  viewOpening: createViewOpening,
  idempotency: ({ idempotency }: UnitOfWork) => idempotency,
  resourceLocks: createResourceLocks,
};

export type Services = { readonly [K in keyof typeof factories]: ReturnType<(typeof factories)[K]> };

/**
 * Creates the services of one unit of work, which has its own entity manager. Each service is created on first use, because
 * a request needs two or three of them.
 */
const createServices = (em: Em, deps: ServiceDeps, origin: Origin): Services => {
  const unit = createUnit(em, deps, origin);
  const get = (created: Record<string, unknown>, name: keyof Services): unknown => {
    created[name] ??= factories[name]?.(unit); // `await` looks for `then`
    return created[name];
  };
  return new Proxy({}, { get }) as Services; // each member is what the factory of its name creates
};

/** Runs once in each transaction of a unit of work, just before its commit. If it throws, the transaction is rolled back. */
export type ConfirmBeforeCommit = (tx: Em) => Promise<void>;

/** @returns functions that create the services of one request, which share a unit of work */
export const createServiceFactories = (root: Em, deps: ServiceDeps) => {
  const fork = (confirm: ConfirmBeforeCommit | undefined): Em => {
    if (!confirm) return root.fork();
    const em = root.fork({ freshEventManager: true });
    runBeforeCommit(em, confirm);
    return em;
  };
  const { clock, tokenIdleDays, lookUpCredential } = deps;
  const authenticationDeps = { em: root.fork(), clock, tokenIdleDays, lookUpCredential };
  return {
    openServices: (origin: Origin = NO_ORIGIN, confirm?: ConfirmBeforeCommit): Services =>
      createServices(fork(confirm), deps, origin),
    /** For callers of requests, who are looked up outside of transactions. */
    openAuthentication: (origin: Origin) => createAuthentication({ ...authenticationDeps, origin }),
    recordUse: deps.tokenUses.record,
    /** Runs the work in one transaction: transactions of its services are savepoints. */
    inTransaction: <T>(
      origin: Origin,
      work: (services: Services) => Promise<T>,
      confirm?: ConfirmBeforeCommit,
    ): Promise<T> => fork(confirm).transactional((tx) => work(createServices(tx, deps, origin))),
  };
};

export type ServiceFactories = ReturnType<typeof createServiceFactories>;

/**
 * Runs `confirm` last in each transaction of a unit of work, after its flush and before its commit. Not at the end of nested transactions:
 * they are savepoints, and more work follows.
 */
const runBeforeCommit = (em: Em, confirm: ConfirmBeforeCommit): void => {
  const outermost = new WeakSet<object>();
  em.getEventManager().registerSubscriber({
    beforeTransactionStart: ({ em: tx, transaction: parent }) => {
      if (!parent) outermost.add(tx);
    },
    beforeTransactionCommit: async ({ em: tx }) => {
      // The event has the transaction's own entity manager, but its type is the parent's.
      if (outermost.has(tx)) await confirm(tx as Em);
    },
  });
};
