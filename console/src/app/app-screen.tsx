import { Badge, Group, SimpleGrid, Stack } from '@mantine/core';
import { useSuspenseQueries } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { type App, showsUsage, versionOf } from '../apps/app-of.ts';
import { useClientOfApp } from '../apps/use-client-of-app.ts';
import { ScreenHeader } from '../components/screen-header.tsx';
import { canAdminister, canOperate } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { TopUsers } from '../usage/top-lists.tsx';
import { UsageByDay } from '../usage/usage-by-day.tsx';
import { AddressNotice } from './address-notice.tsx';
import { AppRemoval } from './app-removal.tsx';
import { AppRequests } from './app-requests.tsx';
import { APP_WINDOWS } from './app-search.ts';
import { AppStacks } from './app-stacks.tsx';
import { AppVersions } from './app-versions.tsx';
import { MaintenanceForm } from './maintenance-form.tsx';
import { TextsForm } from './texts-form.tsx';

const route = getRouteApi('/apps/$id');

export const AppScreen = () => {
  const { id } = route.useParams();
  const { days = APP_WINDOWS[0] } = route.useSearch();
  const navigate = route.useNavigate();
  const [{ data: app }, { data: may }] = useSuspenseQueries({
    queries: [trpc.apps.get.queryOptions({ app_id: id }), trpc.apps.permissions.queryOptions({ app_id: id })],
  });
  const { roles } = useSession();
  const isViewer = showsUsage(app);
  const isReadOnly = !may.can_update;
  const version = versionOf(app);
  return (
    <>
      <ScreenHeader
        title={app.label}
        procedures={['apps.get']}
        lead={
          <Group component="span" gap="sm">
            {isViewer && <ClientOfApp app={app} />}
            <span>{version === undefined ? `${app.slug}, no version yet` : `${app.slug} ${version}`}</span>
            {app.in_maintenance && <Badge variant="default">In maintenance</Badge>}
          </Group>
        }
        actions={
          isViewer && (
            <>
              <Link
                className="action-link"
                to="/apps/$id/views"
                params={{ id }}
                title="Links that open the app without a login"
              >
                Access views
              </Link>
              <Link className="action-link" to="/apps/$id/access" params={{ id }}>
                People with access
              </Link>
              {canAdminister(roles) && (
                <Link className="action-link" to="/audit" search={{ target: app.slug }}>
                  History
                </Link>
              )}
            </>
          )
        }
      />
      {isViewer && <AddressNotice id={id} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} mb="md">
        <MaintenanceForm key={`maintenance of ${id}`} app={app} isReadOnly={isReadOnly} />
        <Stack>
          {isViewer && <AppRequests key={`requests of ${id}`} id={id} isReadOnly={isReadOnly} />}
          <AppStacks id={id} />
          {isViewer && <TopUsers appId={id} days={days} />}
        </Stack>
      </SimpleGrid>
      <TextsForm key={`texts of ${id}`} app={app} isReadOnly={isReadOnly} />
      {roles.is_superuser && <AppRemoval id={id} label={app.label} isClosed={app.in_maintenance} />}
      {isViewer && <AppVersions app={app} isOperator={canOperate(roles)} />}
      {isViewer && (
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
      )}
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
