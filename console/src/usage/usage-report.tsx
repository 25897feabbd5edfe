import { Anchor, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { lazy, type ReactNode, Suspense } from 'react';
import { ChartTable } from '../charts/chart-table.tsx';
import { LineChart, type Series } from '../charts/line-chart.tsx';
import { Trend } from '../charts/trend.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { queryOf } from '../components/search-params.ts';
import { periodLabel, shortPeriodLabel } from './period-label.ts';
import { isWholePeriod } from './previous-period.ts';
import type { Interval, Report } from './usage-filter.ts';
import { previousActions, type UsagePeriod, useReport } from './use-report.ts';

/** Loaded when it is opened. */
const ReportTable = lazy(async () => ({ default: (await import('./report-table.tsx')).ReportTable }));

type Props = {
  title: string;
  /** The level of its heading. */
  order?: 2 | 3;
  report: Report;
  height?: number;
  /** Whether the total of all periods is shown next to the title. */
  hasTotal?: boolean;
  /** At the end of the title's line. */
  actions?: ReactNode;
};

/** A chart of usage, compared with the period before, and its numbers. */
export const UsageReport = (props: Props) => {
  const { title, order = 2, report, height = 260, hasTotal = false, actions } = props;
  const { data, error, isPending } = useReport(report);
  const { interval } = report;
  const isUsed = data && sum(data, 'actions') + sum(data, 'previous_actions') > 0;
  return (
    <Stack className="card" component="section" aria-label={title} mt="md">
      <Group justify="space-between">
        <Group gap="sm" align="baseline">
          <Title order={order} size="h3">
            {title}
          </Title>
          {hasTotal && data && <Total rows={data} interval={interval} />}
        </Group>
        <Group>{actions}</Group>
      </Group>
      <ProblemAlert error={error} />
      {isPending && <Skeleton height={height} />}
      {data && !isUsed && <Text c="dimmed">No usage in this time.</Text>}
      {data && isUsed && (
        <>
          <LineChart
            title={`Actions by ${interval}, and in the previous period. The table has the numbers.`}
            series={seriesOf(data, interval)}
            height={height}
          />
          <ChartTable>
            <Suspense fallback={<Skeleton height={height} />}>
              <ReportTable rows={data} interval={interval} />
            </Suspense>
            <Group justify="space-between" gap="xs" mt="sm">
              <Text size="sm" c="dimmed">
                Days are UTC days.{' '}
                {interval === 'day'
                  ? 'Today has not ended.'
                  : `A ${interval} that has not ended is compared with as many days.`}
              </Text>
              <CsvLink report={report} />
            </Group>
          </ChartTable>
        </>
      )}
    </Stack>
  );
};

const sum = (rows: readonly UsagePeriod[], field: 'actions' | 'previous_actions'): number =>
  rows.reduce((total, row) => total + row[field], 0);

/** The total number of actions, compared with the period before. */
const Total = ({ rows, interval }: { rows: readonly UsagePeriod[]; interval: Interval }) => {
  const [actions, before] = [sum(rows, 'actions'), sum(rows, 'previous_actions')];
  return (
    <Group gap={6}>
      <Text size="sm">{actions.toLocaleString()} actions</Text>
      <Trend
        value={actions}
        before={before}
        isWhole={isWholePeriod(previousActions(rows), interval)}
        title={`${before.toLocaleString()} in the previous period`}
      />
    </Group>
  );
};

/** People only for one app: the people of several apps cannot be added up. */
const seriesOf = (rows: readonly UsagePeriod[], interval: Interval): [Series, ...Series[]] => {
  const oldestFirst = rows.toReversed();
  const nameOf = (start: string, end: string) => ({
    label: periodLabel(interval, start, end),
    axis: shortPeriodLabel(interval, start),
  });
  const namesOf = ({ start, end }: UsagePeriod) => nameOf(start, end);
  const people = oldestFirst.flatMap((row) =>
    row.users === null ? [] : [{ ...namesOf(row), value: row.users }],
  );
  return [
    {
      name: 'Actions',
      kind: 'main',
      isUnfinished: true,
      points: oldestFirst.map((row) => ({ ...namesOf(row), value: row.actions })),
    },
    ...(sum(rows, 'previous_actions') > 0
      ? [
          {
            name: 'Previous period',
            kind: 'before' as const,
            points: oldestFirst.map(({ previous_start, previous_end, previous_actions }) => ({
              ...nameOf(previous_start, previous_end),
              value: previous_actions,
            })),
          },
        ]
      : []),
    ...(people.length > 0
      ? [{ name: 'People', kind: 'other' as const, points: people, isUnfinished: true }]
      : []),
  ];
};

/** Downloads the numbers of the table. */
const CsvLink = ({ report }: { report: Report }) => (
  <Anchor
    size="sm"
    href={`/api/v1/jb/usage/report/?${queryOf({ ...report, format: 'csv' })}`}
    download={`usage-by-${report.interval}.csv`}
  >
    Download this table as CSV
  </Anchor>
);
