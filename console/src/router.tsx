import { createRootRoute, createRoute, createRouter, notFound, redirect } from '@tanstack/react-router';
import { accessFilter, prefetchAccess } from './access/access-query.ts';
import { queryClient, sessionQuery, trpc } from './api.ts';
import { appSearch } from './app/app-search.ts';
import { appsFilter } from './apps/apps-filter.ts';
import { auditFilter } from './audit/audit-search.ts';
import { clientSearch, clientsSearch } from './clients/client-search.ts';
import { compareSearch } from './compare/compare-search.ts';
import { ScreenError } from './components/screen-error.tsx';
import { clientFilter, idOf } from './components/search-params.ts';
import { invitationsFilter } from './invitations/invitations-filter.ts';
import { inviteSearch } from './invite/invite-search.ts';
import { Shell } from './layout/shell.tsx';
import { lazyPart } from './lazy-part.ts';
import { mailsFilter } from './mails/mails-filter.ts';
import { peopleFilter } from './people/people-filter.ts';
import { prefetchPeople } from './people/people-query.ts';
import { personSearch } from './person/person-search.ts';
import { prefetchPerson } from './person/prefetch-person.ts';
import { canView } from './session/roles.ts';
import { reportOf, type UsageFilter, usageFilter } from './usage/usage-filter.ts';
import { unusedApps, unusedPeople } from './views/views.ts';
import { deliveriesFilter } from './webhooks/webhook-search.ts';

const isViewer = (): boolean => {
  const session = queryClient.getQueryData(sessionQuery.queryKey);
  return session !== undefined && canView(session.roles);
};

/** For screens with a choice of clients; like `prefetchPerson`. */
const prefetchClients = async (): Promise<void> => {
  if (isViewer()) await queryClient.prefetchQuery({ ...trpc.clients.list.queryOptions({}), retry: false });
};

const prefetchClientList = async (): Promise<void> => {
  if (isViewer())
    await queryClient.prefetchQuery({ ...trpc.clients.overview.queryOptions({}), retry: false });
};

/** The data above the sections of a client, and of the first one. */
const prefetchClient = async (id: number): Promise<void> => {
  if (!isViewer()) return;
  await Promise.all([
    queryClient.prefetchQuery({ ...trpc.clients.get.queryOptions({ id }), retry: false }),
    queryClient.prefetchQuery({ ...trpc.clients.gate.queryOptions({ id }), retry: false }),
    queryClient.prefetchQuery({ ...trpc.clients.overview.queryOptions({ client: id }), retry: false }),
  ]);
};

/** Requests the chart while the screen is loaded, so that both appear in one step. */
const prefetchUsage = async (filter: UsageFilter): Promise<void> => {
  if (!isViewer()) return;
  const report = trpc.usage.report.queryOptions(reportOf(filter));
  await Promise.all([queryClient.prefetchQuery({ ...report, retry: false }), prefetchClients()]);
};

/** The address of a former screen, now the view `Unused` of the people and of the apps. */
const redirectIdle = ({ kind, days, client }: Record<string, unknown>) =>
  kind === 'apps'
    ? redirect({ to: '/apps', search: { ...unusedApps(idOf(days)), client: idOf(client) }, replace: true })
    : redirect({
        to: '/people',
        search: { ...unusedPeople(idOf(days)), client: idOf(client) },
        replace: true,
      });

/** For screens of a numbered record: any other id is not found. */
const requireNumber = ({ params: { id } }: { params: { id: string } }): void => {
  if (!/^\d{1,15}$/.test(id)) throw notFound();
};

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <ScreenError error={null} />,
  beforeLoad: ({ location: { pathname, search } }) => {
    if (pathname === '/idle') throw redirectIdle(search);
  },
});

/** Each screen is a separate chunk, which the first visit loads. */
const screens = [
  createRoute({
    getParentRoute: () => root,
    path: '/',
    // Requested together with the session instead of after it.
    loader: () => void queryClient.prefetchQuery(trpc.apps.list.queryOptions({})),
    component: lazyPart(() => import('./home/home-screen.tsx'), 'HomeScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/people',
    validateSearch: peopleFilter,
    loaderDeps: ({ search }) => search,
    loader: ({ deps }) => prefetchPeople(deps),
    component: lazyPart(() => import('./people/people-screen.tsx'), 'PeopleScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/people/$email',
    validateSearch: personSearch,
    loader: ({ params }) => prefetchPerson(params.email),
    component: lazyPart(() => import('./person/person-screen.tsx'), 'PersonScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/apps',
    validateSearch: appsFilter,
    component: lazyPart(() => import('./apps/apps-screen.tsx'), 'AppsScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/apps/$id',
    validateSearch: appSearch,
    component: lazyPart(() => import('./app/app-screen.tsx'), 'AppScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/apps/$id/access',
    beforeLoad: ({ params }) => {
      throw redirect({ to: '/apps/$id', params, search: { tab: 'people' }, replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/apps/$id/compare',
    validateSearch: compareSearch,
    component: lazyPart(() => import('./compare/compare-screen.tsx'), 'CompareScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/apps/$id/views',
    beforeLoad: ({ params }) => {
      throw redirect({ to: '/apps/$id', params, search: { tab: 'links' }, replace: true });
    },
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/keys',
    component: lazyPart(() => import('./keys/signing-keys-screen.tsx'), 'SigningKeysScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/usage',
    validateSearch: usageFilter,
    loaderDeps: ({ search }) => search,
    // A change of the filter does not wait, so that its choice shows at once.
    loader: ({ deps, cause }) => {
      const loaded = prefetchUsage(deps);
      return cause === 'stay' ? undefined : loaded;
    },
    component: lazyPart(() => import('./usage/usage-screen.tsx'), 'UsageScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/clients',
    validateSearch: clientsSearch,
    loader: prefetchClientList,
    component: lazyPart(() => import('./clients/clients-screen.tsx'), 'ClientsScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/clients/$id',
    beforeLoad: requireNumber,
    validateSearch: clientSearch,
    loader: ({ params }) => prefetchClient(Number(params.id)),
    component: lazyPart(() => import('./clients/client-screen.tsx'), 'ClientScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/groups',
    validateSearch: clientFilter,
    loader: prefetchClients,
    component: lazyPart(() => import('./groups/groups-screen.tsx'), 'GroupsScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/groups/$client/$group',
    component: lazyPart(() => import('./groups/group-screen.tsx'), 'GroupScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/invite',
    validateSearch: inviteSearch,
    component: lazyPart(() => import('./invite/invite-screen.tsx'), 'InviteScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/invitations',
    validateSearch: invitationsFilter,
    component: lazyPart(() => import('./invitations/invitations-screen.tsx'), 'InvitationsScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/mails',
    validateSearch: mailsFilter,
    component: lazyPart(() => import('./mails/mails-screen.tsx'), 'MailsScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/mails/$id',
    beforeLoad: requireNumber,
    component: lazyPart(() => import('./mails/mail-screen.tsx'), 'MailScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/webhooks',
    validateSearch: clientFilter,
    component: lazyPart(() => import('./webhooks/webhooks-screen.tsx'), 'WebhooksScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/webhooks/$id',
    beforeLoad: requireNumber,
    validateSearch: deliveriesFilter,
    component: lazyPart(() => import('./webhooks/webhook-screen.tsx'), 'WebhookScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/service-accounts',
    validateSearch: clientFilter,
    component: lazyPart(
      () => import('./service-accounts/service-accounts-screen.tsx'),
      'ServiceAccountsScreen',
    ),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/service-accounts/$id',
    beforeLoad: requireNumber,
    component: lazyPart(
      () => import('./service-accounts/service-account-screen.tsx'),
      'ServiceAccountScreen',
    ),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/audit',
    validateSearch: auditFilter,
    // Sentences name apps.
    loader: () => queryClient.prefetchQuery({ ...trpc.apps.list.queryOptions({}), retry: false }),
    component: lazyPart(() => import('./audit/audit-screen.tsx'), 'AuditScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/account',
    component: lazyPart(() => import('./account/account-screen.tsx'), 'AccountScreen'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/access',
    validateSearch: accessFilter,
    loaderDeps: ({ search }) => search,
    // As for the screen above.
    loader: ({ deps, cause }) => {
      const loaded = prefetchAccess(deps);
      return cause === 'stay' ? undefined : loaded;
    },
    component: lazyPart(() => import('./access/access-screen.tsx'), 'AccessScreen'),
  }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren(screens),
  basepath: '/console',
  defaultPreload: 'intent',
  defaultErrorComponent: ScreenError,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
