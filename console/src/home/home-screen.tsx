import { Card, Group, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Suspense } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { CHART_DAYS } from '../charts/chart-days.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { StatusText } from '../components/status-text.tsx';
import { lazyPart } from '../lazy-part.ts';
import { MailNotice } from '../mails/mail-notice.tsx';
import { PendingRequests } from '../requests/pending-requests.tsx';
import { useClientChoice } from '../session/client-choice.ts';
import { canOperate, canView, mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { UsageChart } from '../usage/usage-chart.tsx';
import { AttentionList } from './attention.tsx';
import { EndingGrants } from './ending-grants.tsx';
import { Figures, lastDaysOf } from './figures.tsx';
import classes from './home.module.css';
import { SetupSteps } from './setup.tsx';

const OwnRequests = lazyPart(() => import('../requests/own-requests.tsx'), 'OwnRequests');

type App = Extract<Outputs['apps']['list'], readonly unknown[]>[number];

export const HomeScreen = () => {
  const { user, roles } = useSession();
  const apps = useSuspenseQuery(trpc.apps.list.queryOptions({})).data;
  // Client admins may open all apps that they see; superusers and staff see the apps of all clients.
  const own = canOperate(roles) ? apps.filter(({ id }) => user.apps.includes(id)) : apps;
  return (
    <>
      <ScreenHeader title={`Hello ${user.first_name}`.trim()} lead={`You are logged in as ${user.email}.`} />
      {canView(roles) && <Overview />}
      {(own.length > 0 || !canView(roles)) && <OwnApps apps={own} />}
      {!canView(roles) && (
        <Suspense>
          <OwnRequests />
        </Suspense>
      )}
    </>
  );
};

/** What needs attention and the usage, of the chosen client or of all. */
const Overview = () => {
  const { roles } = useSession();
  const { client, isKnown } = useClientChoice();
  if (!isKnown) return <Skeleton height={320} />;
  const id = client?.id;
  return (
    <>
      <SetupSteps client={id} />
      <Title order={2} mb="sm">
        For your attention{client && ` in ${client.name}`}
      </Title>
      <MailNotice />
      <Stack className={classes.attention ?? ''}>
        {mayDo(roles, 'manage-grants') && <PendingRequests subject={{ client: id }} />}
        <EndingGrants client={id} />
        <AttentionList client={id} />
      </Stack>
      <Title order={2} mt="lg" mb="sm">
        Last {CHART_DAYS} days
      </Title>
      <Figures client={id} />
      <UsageChart
        title="Actions by day"
        order={3}
        report={lastDaysOf(id)}
        height={160}
        actions={
          <Link className="action-link" to="/usage" search={{ client: id }}>
            All usage
          </Link>
        }
      />
    </>
  );
};

const OwnApps = ({ apps }: { apps: App[] }) => (
  <>
    <Title order={2} mt="lg" mb="sm">
      Your apps
    </Title>
    {apps.length === 0 ? (
      <EmptyState title="You have no apps yet">
        Ask for one below, or ask an admin of your client for access.
      </EmptyState>
    ) : (
      <SimpleGrid component="ul" className="plain-list" cols={{ base: 1, xs: 2, md: 3, xl: 4 }}>
        {apps.map((app) => (
          <li key={app.id}>
            <AppCard app={app} />
          </li>
        ))}
      </SimpleGrid>
    )}
  </>
);

/** Links to the app, or during maintenance to its message. */
const AppCard = ({ app }: { app: App }) => (
  <Card withBorder component="a" h="100%" href={`/launch/${app.slug}/`}>
    <Group justify="space-between">
      <Title order={3} size="h4">
        {app.label}
      </Title>
      {app.in_maintenance && <StatusText label="In maintenance" color="yellow" />}
    </Group>
    <Text c="dimmed" size="sm">
      {app.description}
    </Text>
  </Card>
);
