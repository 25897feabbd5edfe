import { Group, Menu, SimpleGrid, Stack } from '@mantine/core';
import { useSuspenseQueries } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { type App, showsUsage, versionOf } from '../apps/app-of.ts';
import { useClientOfApp } from '../apps/use-client-of-app.ts';
import { HeaderLink } from '../components/header-link.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { type ScreenTab, ScreenTabs } from '../components/screen-tabs.tsx';
import { StatusText } from '../components/status-text.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { canOperate, canViewLinks, mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { OpenidTab } from '../openid/openid-tab.tsx';
import { UsageByDay } from '../usage/usage-by-day.tsx';
import { TopUsers } from '../usage/usage-tables.tsx';
import { AddressNotice } from './address-notice.tsx';
import { AppRemoval } from './app-removal.tsx';
import { AppRequests } from './app-requests.tsx';
import { APP_WINDOWS, appSearch, type Tab } from './app-search.ts';
import { AppStacks } from './app-stacks.tsx';
import { AppVersions } from './app-versions.tsx';
import { MaintenanceForm } from './maintenance-form.tsx';
import { MemberApp } from './member-app.tsx';
import { TextsForm } from './texts-form.tsx';
import { WhoSeesWhat } from './who-sees-what.tsx';

const route = getRouteApi('/apps/$id');

export const AppScreen = () => {
  const { id } = route.useParams();
  const [{ data: app }, { data: may }] = useSuspenseQueries({
    queries: [trpc.apps.get.queryOptions({ app_id: id }), trpc.apps.permissions.queryOptions({ app_id: id })],
  });
  if (!showsUsage(app)) return <MemberApp app={app} />;
  return <ManagedApp app={app} isReadOnly={!may.can_update} />;
};

type ManagedProps = { app: App; isReadOnly: boolean };

const ManagedApp = ({ app, isReadOnly }: ManagedProps) => {
  const { id } = app;
  const { tab = 'overview', days } = route.useSearch();
  const navigate = route.useNavigate();
  const { roles } = useSession();
  // Its settings are not read before it is opened.
  const [hasOpenedOpenid, setHasOpenedOpenid] = useState(tab === 'openid');
  if (tab === 'openid' && !hasOpenedOpenid) setHasOpenedOpenid(true);
  const version = versionOf(app);
  const declared = useDeclared(useClientOfApp(app)?.id, id);
  const appRoles = declared.roles.get(id) ?? [];
  const props = { app, isReadOnly };
  const tabs: ScreenTab<Tab>[] = [
    { value: 'overview', label: 'Overview', panel: <Overview {...props} />, isKept: true },
    { value: 'texts', label: 'General', panel: <TextsForm {...props} />, isKept: true },
    {
      value: 'versions',
      label: 'Versions',
      panel: <AppVersions app={app} isOperator={canOperate(roles)} />,
    },
  ];
  if (declared.attributes.length > 0 || appRoles.length > 0)
    tabs.splice(1, 0, {
      value: 'data',
      label: 'Who sees what',
      panel: <WhoSeesWhat id={id} roles={appRoles} />,
    });
  if (!isReadOnly)
    tabs.push({
      value: 'openid',
      label: 'OpenID',
      panel: <OpenidTab app={app} />,
      isKept: hasOpenedOpenid,
    });
  if (roles.is_superuser)
    tabs.push({
      value: 'remove',
      label: 'Remove',
      panel: <AppRemoval id={id} label={app.label} isClosed={app.in_maintenance} />,
    });
  return (
    <>
      <ScreenHeader
        title={app.label}
        lead={
          <Group component="span" gap="sm">
            <ClientOfApp app={app} />
            <span>{version === undefined ? `${app.slug}, no version yet` : `${app.slug} ${version}`}</span>
            {app.in_maintenance && <StatusText label="In maintenance" color="yellow" />}
          </Group>
        }
        actions={
          <>
            {canViewLinks(roles) && (
              <HeaderLink
                to="/apps/$id/views"
                params={{ id }}
                title="Links that open the app without a login"
              >
                Share links
              </HeaderLink>
            )}
            <HeaderLink to="/apps/$id/access" params={{ id }}>
              People with access
            </HeaderLink>
          </>
        }
        menu={
          mayDo(roles, 'read-audit') && (
            <Menu.Item renderRoot={(item) => <Link {...item} to="/audit" search={{ target: app.slug }} />}>
              History
            </Menu.Item>
          )
        }
      />
      <AddressNotice id={id} />
      <ScreenTabs
        key={id}
        label="About this app"
        value={tabs.some(({ value }) => value === tab) ? tab : 'overview'}
        tabs={tabs}
        onShow={(value) =>
          void navigate({ search: appSearch({ days, tab: value }), replace: true, resetScroll: false })
        }
      />
    </>
  );
};

/** The settings that change often, and the usage of the app. */
const Overview = ({ app, isReadOnly }: ManagedProps) => {
  const { id } = app;
  const { days = APP_WINDOWS[0] } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Stack>
          <MaintenanceForm app={app} isReadOnly={isReadOnly} />
          <AppRequests id={id} isReadOnly={isReadOnly} />
        </Stack>
        <Stack>
          <TopUsers appId={id} days={days} />
          <AppStacks id={id} />
        </Stack>
      </SimpleGrid>
      <UsageByDay
        subject={{ app_id: id }}
        days={days}
        windows={APP_WINDOWS}
        actions={
          <Link className="action-link" to="/usage" search={{ app: id }}>
            Entries and CSV
          </Link>
        }
        onDays={(window) => void navigate({ search: { days: window }, replace: true, resetScroll: false })}
      />
    </>
  );
};

const ClientOfApp = ({ app }: { app: App }) => {
  const client = useClientOfApp(app);
  return (
    client && (
      <Link className="action-link" to="/clients/$id" params={{ id: String(client.id) }}>
        {client.name}
      </Link>
    )
  );
};
