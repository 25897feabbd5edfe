import { Group, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { trpc } from '../api.ts';
import { type App, versionOf } from '../apps/app-of.ts';
import { Trend } from '../charts/trend.tsx';
import { PendingRequests } from '../requests/pending-requests.tsx';
import { previousActions, useReport } from '../usage/usage-data.ts';
import { isWholePeriod, reportOf } from '../usage/usage-filter.ts';
import { UsageReport } from '../usage/usage-report.tsx';
import { TopStacks, TopUsers } from '../usage/usage-tables.tsx';

/** Whole weeks, so that the same weekdays are compared. */
const DAYS = reportOf({}).periods;

/** How the app is used, and who asks for it. */
export const Overview = ({ app }: { app: App }) => (
  <>
    <Figures app={app} />
    <UsageReport
      title={`Actions in ${DAYS} days`}
      report={reportOf({ app: app.id })}
      height={200}
      hasTotal
      actions={
        <Link className="action-link" to="/usage" search={{ app: app.id }}>
          Entries and CSV
        </Link>
      }
    />
    <SimpleGrid cols={{ base: 1, md: 2 }} my="md">
      <TopUsers appId={app.id} days={DAYS} />
      <TopStacks appId={app.id} days={DAYS} />
    </SimpleGrid>
    <PendingRequests subject={{ app: app.id }} />
  </>
);

const Figures = ({ app }: { app: App }) => {
  const { id, slug } = app;
  const people = useQuery(trpc.users.count.queryOptions({ app: slug, is_active: true }));
  const seats = useQuery(trpc.usage.byApp.queryOptions({ app_ids: [id], window: DAYS })).data?.apps[0];
  const used = useQuery(trpc.usage.summary.queryOptions({ app_id: id, window: DAYS })).data;
  const report = useReport(reportOf({ app: id })).data ?? [];
  return (
    <SimpleGrid component="dl" m={0} cols={{ base: 2, md: 4 }} spacing={{ base: 'xs', xs: 'md' }}>
      <Figure label="May open it" value={people.data?.count}>
        <Link className="action-link" to="/apps/$id" params={{ id }} search={{ tab: 'people' }}>
          People
        </Link>
      </Figure>
      <Figure label={`Used it in ${DAYS} days`} value={used?.users}>
        {used && (
          <Trend
            value={used.users}
            before={used.previous_users}
            isWhole={isWholePeriod(previousActions(report), 'day')}
            title={`${used.previous_users.toLocaleString()} in the ${DAYS} days before`}
          />
        )}
      </Figure>
      <Figure label="Unused seats" value={seats?.unused_seats}>
        {seats && (
          <Text
            span
            size="sm"
            c="dimmed"
            title={`People who have the app and did not use it in ${DAYS} days`}
          >
            of {seats.seats.toLocaleString()}
          </Text>
        )}
      </Figure>
      <Figure label="Version" value={versionOf(app) ?? 'None yet'}>
        <Link className="action-link" to="/apps/$id" params={{ id }} search={{ tab: 'versions' }}>
          Versions
        </Link>
      </Figure>
    </SimpleGrid>
  );
};

type FigureProps = { label: string; value: number | string | undefined; children: ReactNode };

const Figure = ({ label, value, children }: FigureProps) => (
  <div className="card">
    <Text component="dt" fz={{ base: 'xs', xs: 'sm' }} c="dimmed">
      {label}
    </Text>
    {value === undefined ? (
      <Skeleton component="dd" height={34} width={96} m={0} mt={4} />
    ) : (
      <Group component="dd" m={0} gap="xs" align="baseline">
        <Text component="span" className="figure">
          {value.toLocaleString()}
        </Text>
        {children}
      </Group>
    )}
  </div>
);
