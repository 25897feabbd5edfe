import { Group, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { trpc } from '../api.ts';
import { type App, UNRECORDED, versionOf } from '../apps/app-of.ts';
import { CHART_DAYS } from '../charts/chart-days.ts';
import { Trend } from '../charts/trend.tsx';
import type { PeopleFilter } from '../people/people-filter.ts';
import { PendingRequests } from '../requests/pending-requests.tsx';
import { TopStacks, TopUsers } from '../usage/rankings.tsx';
import { previousActions, useReport } from '../usage/usage-data.ts';
import { comparisonText, isWholePeriod, reportOf } from '../usage/usage-filter.ts';
import { UsageReport } from '../usage/usage-report.tsx';
import { peopleWithAccess } from '../views/views.ts';

/** How the app is used, and who asks for it. */
export const Overview = ({ app }: { app: App }) => (
  <>
    <Figures app={app} />
    <UsageReport
      title={`Usage in ${CHART_DAYS} days`}
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
      <TopUsers appId={app.id} days={CHART_DAYS} />
      <TopStacks appId={app.id} days={CHART_DAYS} />
    </SimpleGrid>
    <PendingRequests subject={{ app: app.id }} />
  </>
);

const Figures = ({ app }: { app: App }) => {
  const { id } = app;
  const seats = useQuery(trpc.usage.byApp.queryOptions({ app_ids: [id], periods: CHART_DAYS })).data?.apps[0];
  const used = useQuery(trpc.usage.summary.queryOptions({ app_id: id, window: CHART_DAYS })).data;
  const report = reportOf({ app: id });
  const rows = useReport(report).data ?? [];
  const compared = used && { value: used.full_users, before: used.previous_full_users };
  return (
    <SimpleGrid component="dl" m={0} cols={{ base: 2, md: 4 }} spacing={{ base: 'xs', xs: 'md' }}>
      <Figure label="People with access" value={seats?.seats} people={peopleWithAccess(app)} />
      <Figure label={`Used it in ${CHART_DAYS} days`} value={used?.users}>
        {seats?.is_unrecorded && (
          <Text span size="sm" c="dimmed">
            {UNRECORDED}
          </Text>
        )}
        {compared && (
          <Trend
            {...compared}
            isWhole={isWholePeriod(previousActions(rows), report.interval)}
            title={comparisonText(report, compared)}
          />
        )}
      </Figure>
      <Figure
        label="Unused seats"
        value={seats?.unused_seats}
        people={{ ...peopleWithAccess(app), app_unused_days: CHART_DAYS }}
      >
        {seats && (
          <Text
            span
            size="sm"
            c="dimmed"
            title={`The app recorded no action of theirs in ${CHART_DAYS} days`}
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

type FigureProps = {
  label: string;
  value: number | string | undefined;
  /** The list of people with as many rows. */
  people?: PeopleFilter;
  children?: ReactNode;
};

const Figure = ({ label, value, people, children }: FigureProps) => (
  <div className="card">
    <Text component="dt" fz={{ base: 'xs', xs: 'sm' }} c="dimmed">
      {label}
    </Text>
    {value === undefined ? (
      <Skeleton component="dd" height={34} width={96} m={0} mt={4} />
    ) : (
      <Group component="dd" m={0} gap="xs" align="baseline">
        <Text component="span" className="figure">
          {people ? (
            <Link className="action-link" to="/people" search={people} aria-label={`${label}: ${value}`}>
              {value.toLocaleString()}
            </Link>
          ) : (
            value.toLocaleString()
          )}
        </Text>
        {children}
      </Group>
    )}
  </div>
);
