import { Anchor, Button, Group, Menu, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconExternalLink } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery, useSuspenseQueries, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { AccessViewsTab } from '../access-views/access-views-tab.tsx';
import { type Outputs, trpc } from '../api.ts';
import { PeopleTab } from '../app-access/people-tab.tsx';
import { type App, showsUsage, useClientOfApp, versionOf } from '../apps/app-of.ts';
import { useClients } from '../components/client-select.tsx';
import type { Column } from '../components/column.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { Notice } from '../components/notice.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { PersonCell } from '../components/person-link.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { type ScreenTab, ScreenTabs } from '../components/screen-tabs.tsx';
import { StatusText } from '../components/status-text.tsx';
import { Tags } from '../components/tags.tsx';
import { useAskedDialog } from '../components/use-asked-dialog.ts';
import { type AppRole, declaredIn } from '../data-permissions/declared.ts';
import { OpenidTab } from '../openid/openid-tab.tsx';
import { canOperate, canViewLinks, mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { appSearch, type Tab } from './app-search.ts';
import { AppVersions } from './app-versions.tsx';
import { MaintenanceDialog, MaintenanceNotice, maintenanceText, useMaintenance } from './maintenance.tsx';
import { Overview } from './overview.tsx';
import { AppSettings } from './settings.tsx';

const route = getRouteApi('/apps/$id');

export const AppScreen = () => {
  const { id } = route.useParams();
  const [{ data: app }, { data: may }] = useSuspenseQueries({
    queries: [trpc.apps.get.queryOptions({ app_id: id }), trpc.apps.permissions.queryOptions({ app_id: id })],
  });
  if (!showsUsage(app)) return <MemberApp app={app} />;
  return <ManagedApp app={app} isReadOnly={!may.can_update} />;
};

/** In a new tab, so that the console stays. */
const OpenApp = ({ app: { slug }, label }: { app: App; label: string }) => (
  <Button
    component="a"
    href={`/launch/${slug}/`}
    target="_blank"
    rightSection={<IconExternalLink size={16} stroke={1.75} aria-hidden />}
  >
    {label}
  </Button>
);

/** An app for its members: its description, and the link that opens it. */
const MemberApp = ({ app }: { app: App }) => {
  const maintenance = useMaintenance(app);
  const text = maintenanceText(maintenance);
  return (
    <>
      <ScreenHeader title={app.label} />
      <Stack className="card" align="flex-start">
        {app.description !== '' && <Text>{app.description}</Text>}
        {text !== null && <Text c="dimmed">{text}. You see a message instead of the app then.</Text>}
        <OpenApp app={app} label={`Open ${app.label}`} />
      </Stack>
    </>
  );
};

type ManagedProps = { app: App; isReadOnly: boolean };

const ManagedApp = ({ app, isReadOnly }: ManagedProps) => {
  const { id } = app;
  const { tab = 'overview' } = route.useSearch();
  const navigate = route.useNavigate();
  const { roles } = useSession();
  const clientId = useClientOfApp(id);
  const client = useClients().find((one) => one.id === clientId);
  const maintenance = useMaintenance(app);
  const [isMaintaining, maintaining] = useDisclosure();
  useAskedDialog({ maintenance: !isReadOnly && maintaining.open });
  // Its settings are not read before it is opened.
  const [hasOpenedOpenid, setHasOpenedOpenid] = useState(tab === 'openid');
  if (tab === 'openid' && !hasOpenedOpenid) setHasOpenedOpenid(true);
  const version = versionOf(app);
  const canOpen = useCanOpen(app);
  const tabs = useTabs({ app, isReadOnly, isClosed: maintenance.state === 'running', hasOpenedOpenid });
  return (
    <>
      <ScreenHeader
        title={app.label}
        lead={
          <Group component="span" gap="sm">
            {client && (
              <Link className="action-link" to="/clients/$id" params={{ id: String(client.id) }}>
                {client.name}
              </Link>
            )}
            <span>{version === undefined ? `${app.slug}, no version yet` : `${app.slug} ${version}`}</span>
            {maintenance.state === 'running' && <StatusText label="In maintenance" color="yellow" />}
          </Group>
        }
        actions={canOpen && <OpenApp app={app} label="Open app" />}
        menu={
          <>
            {!isReadOnly && <Menu.Item onClick={maintaining.open}>Maintenance…</Menu.Item>}
            {mayDo(roles, 'read-audit') && (
              <Menu.Item renderRoot={(item) => <Link {...item} to="/audit" search={{ target: app.slug }} />}>
                History
              </Menu.Item>
            )}
            <Menu.Item renderRoot={(item) => <Link {...item} to="/usage" search={{ app: id }} />}>
              Usage
            </Menu.Item>
          </>
        }
      />
      <AddressNotice id={id} />
      <MaintenanceNotice
        app={app}
        maintenance={maintenance}
        isReadOnly={isReadOnly}
        onChange={maintaining.open}
      />
      <ScreenTabs
        key={id}
        label="About this app"
        value={tabs.some(({ value }) => value === tab) ? tab : 'overview'}
        tabs={tabs}
        onShow={(value) =>
          void navigate({ search: appSearch({ tab: value }), replace: true, resetScroll: false })
        }
      />
      {isMaintaining && <MaintenanceDialog app={app} maintenance={maintenance} onClose={maintaining.close} />}
    </>
  );
};

/** Whether the app is opened by a grant or group of the user, or by their role. */
const useCanOpen = (app: App): boolean => {
  const { user, roles } = useSession();
  const isAdmin = roles.admin_of.includes(useClientOfApp(app.id));
  return isAdmin || canOperate(roles) || user.apps.includes(app.id);
};

type TabProps = ManagedProps & { isClosed: boolean; hasOpenedOpenid: boolean };

const useTabs = ({ app, isReadOnly, isClosed, hasOpenedOpenid }: TabProps): ScreenTab<Tab>[] => {
  const { id } = app;
  const { roles } = useSession();
  const { data: schema } = useSuspenseQuery(
    trpc.dataPermissions.getSchema.queryOptions({ id: useClientOfApp(id) }),
  );
  const declared = declaredIn(schema, id);
  const appRoles = declared.roles.get(id) ?? [];
  const tabs: (ScreenTab<Tab> | false)[] = [
    { value: 'overview', label: 'Overview', panel: <Overview app={app} /> },
    { value: 'people', label: 'People', panel: <PeopleTab app={app} /> },
    canViewLinks(roles) && { value: 'links', label: 'Share links', panel: <AccessViewsTab app={app} /> },
    (declared.attributes.length > 0 || appRoles.length > 0) && {
      value: 'data',
      label: 'Who sees what',
      panel: <WhoSeesWhat id={id} roles={appRoles} />,
    },
    {
      value: 'versions',
      label: 'Versions',
      panel: <AppVersions app={app} isOperator={canOperate(roles)} />,
    },
    !isReadOnly && {
      value: 'openid',
      label: 'OpenID',
      panel: <OpenidTab app={app} />,
      isKept: hasOpenedOpenid,
    },
    {
      value: 'settings',
      label: 'Settings',
      panel: <AppSettings app={app} isReadOnly={isReadOnly} isClosed={isClosed} />,
      isKept: true,
    },
  ];
  return tabs.filter((tab) => tab !== false);
};

/** States that an app cannot be opened yet, because it has no address and APP_URL is not set. */
const AddressNotice = ({ id }: { id: string }) => {
  const isApi = useSession().app_url.startsWith('/api/');
  const status = useQuery(trpc.apps.status.queryOptions({ app_id: id }, { enabled: isApi }));
  // Other parts of the screen read the status too.
  return isApi && status.data?.launch_url === '' ? (
    <Notice>
      This app has no address yet: people who open it see a page that says so. Staff load a version whose
      package names one (launch_url in app.yaml), or the operator of the service sets APP_URL.
    </Notice>
  ) : null;
};

type Row = Outputs['dataPermissions']['ofApp'][number];

const PAGE_SIZE = 100;

type Props = { id: string; roles: readonly AppRole[] };

/** The people who have an app, with the data and the roles that they have there. */
const WhoSeesWhat = ({ id, roles }: Props) => {
  const people = useInfiniteQuery(
    trpc.dataPermissions.ofApp.infiniteQueryOptions(
      { app_id: id, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.email) },
    ),
  );
  return (
    <Stack gap="sm">
      <Group justify="flex-end">
        <Anchor size="sm" href={`/api/v1/jb/apps/${id}/data-permissions/?format=csv`} download>
          Download CSV
        </Anchor>
      </Group>
      <PagedTable
        label="Who sees what"
        columns={columnsOf(roles)}
        pages={people}
        keyOf={({ email }) => email}
        empty={<EmptyState title="No one has the app">Grant it to someone first.</EmptyState>}
      />
    </Stack>
  );
};

const columnsOf = (roles: readonly AppRole[]): Column<Row>[] => [
  {
    heading: 'Person',
    width: 'minmax(9rem, 2fr)',
    cell: (person) => (
      <PersonCell person={person}>{!person.allowed && <StatusText label="Closed" color="red" />}</PersonCell>
    ),
  },
  {
    heading: 'Sees',
    width: 'minmax(10rem, 3fr)',
    onPhone: 'plain',
    cell: ({ sees }) => <span title={sees}>{sees || <Dash />}</span>,
  },
  ...(roles.length === 0
    ? []
    : [
        {
          heading: 'Roles',
          width: 'minmax(7rem, 1.5fr)',
          cell: ({ app_roles: keys }: Row) =>
            keys.length === 0 ? (
              <Dash />
            ) : (
              <Tags
                names={keys.map((key) => roles.find((role) => role.key === key)?.label || key)}
                shown={2}
              />
            ),
        },
      ]),
  {
    heading: 'Wrong',
    width: 'minmax(9rem, 2fr)',
    onPhone: 'plain',
    cell: ({ faults }) =>
      faults !== '' && (
        <Text span fz="inherit" c="var(--mantine-color-error)" title={faults}>
          {faults}
        </Text>
      ),
  },
];

const Dash = () => (
  <Text span fz="inherit" c="dimmed">
    –
  </Text>
);
