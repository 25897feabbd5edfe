import type { Noun } from '../src/services/access/action-scopes.ts';
import { accessRouter } from './access.ts';
import { accessViewsRouter } from './access-views.ts';
import { appPackagesRouter } from './app-packages.ts';
import { appsRouter } from './apps.ts';
import { attentionRouter } from './attention.ts';
import { auditRouter } from './audit.ts';
import { brandingRouter } from './branding.ts';
import { clientsRouter } from './clients.ts';
import { dataPermissionsRouter } from './data-permissions.ts';
import { directoryRouter } from './directory.ts';
import { domainsRouter } from './domains.ts';
import { environmentRouter } from './environment.ts';
import { eventsRouter } from './events.ts';
import { grantsRouter } from './grants.ts';
import { groupsRouter } from './groups.ts';
import { installationSsoRouter } from './installation-sso.ts';
import { invitationsRouter } from './invitations.ts';
import { listViewsRouter } from './list-views.ts';
import { mailRouter } from './mail.ts';
import { membershipsRouter } from './memberships.ts';
import { mfaRouter } from './mfa.ts';
import { openidRouter } from './openid.ts';
import { operationsRouter } from './operations.ts';
import { passwordsRouter } from './passwords.ts';
import { profileRouter } from './profile.ts';
import { remindersRouter } from './reminders.ts';
import { requestsRouter } from './requests.ts';
import { rolesRouter } from './roles.ts';
import { savedFiltersRouter } from './saved-filters.ts';
import { serviceAccountsRouter } from './service-accounts.ts';
import { sessionsRouter } from './sessions.ts';
import { signingKeysRouter } from './signing-keys.ts';
import { sitesRouter } from './sites.ts';
import { ssoRouter } from './sso.ts';
import { ticketsRouter } from './tickets.ts';
import { tokensRouter } from './tokens.ts';
import { createCallerFactory, router } from './trpc.ts';
import { usageRouter } from './usage.ts';
import { usersRouter } from './users.ts';
import { webhooksRouter } from './webhooks.ts';

export const appRouter = router({
  tokens: tokensRouter,
  serviceAccounts: serviceAccountsRouter,
  sessions: sessionsRouter,
  mfa: mfaRouter,
  sso: ssoRouter,
  domains: domainsRouter,
  installationSso: installationSsoRouter,
  passwords: passwordsRouter,
  branding: brandingRouter,
  sites: sitesRouter,
  clients: clientsRouter,
  reminders: remindersRouter,
  users: usersRouter,
  profile: profileRouter,
  roles: rolesRouter,
  memberships: membershipsRouter,
  grants: grantsRouter,
  groups: groupsRouter,
  requests: requestsRouter,
  invitations: invitationsRouter,
  apps: appsRouter,
  usage: usageRouter,
  savedFilters: savedFiltersRouter,
  listViews: listViewsRouter,
  appPackages: appPackagesRouter,
  environment: environmentRouter,
  audit: auditRouter,
  events: eventsRouter,
  webhooks: webhooksRouter,
  mail: mailRouter,
  openid: openidRouter,
  operations: operationsRouter,
  access: accessRouter,
  accessViews: accessViewsRouter,
  dataPermissions: dataPermissionsRouter,
  directory: directoryRouter,
  attention: attentionRouter,
  tickets: ticketsRouter,
  signingKeys: signingKeysRouter,
} satisfies Record<Noun, object>);

export type AppRouter = typeof appRouter;

/** Calls procedures in-process, with the same types and checks as over the network. */
export const createCaller = createCallerFactory(appRouter);
