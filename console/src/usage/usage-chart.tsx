import { Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { ChartTable } from '../charts/chart-table.tsx';
import { LineChart, type Series } from '../charts/line-chart.tsx';
import { Trend } from '../charts/trend.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { lazyPart } from '../lazy-part.ts';
import { namesOf, previousActions, type UsagePeriod, useReport } from './usage-data.ts';
import { comparisonText, ended, type Interval, isWholePeriod, type Report } from './usage-filter.ts';

const UsageTable = lazyPart(() => import('./period-table.tsx'), 'UsageTable');

export const CHART_HEIGHT = 260;

export type Measure = 'actions' | 'users';

export type ChartProps = {
  title: string;
  /** The level of its heading. */
  order?: 2 | 3;
  report: Report;
  height?: number;
  /** Whether the total of all periods is shown next to the title. */
  hasTotal?: boolean;
  /** At the end of the title's line. */
  actions?: ReactNode;
  /** What is drawn: one axis does not fit both. */
  measure?: Measure;
  /** The choice of what is drawn, above the chart. */
  choice?: ReactNode;
};

/** A chart of usage, compared with the period before, and its numbers. */
export const UsageChart = (props: ChartProps) => {
  const { title, order = 2, report, height = CHART_HEIGHT, hasTotal = false, actions } = props;
  const { measure = 'actions', choice } = props;
  const { data, error, isPending } = useReport(report);
  const { interval } = report;
  const isUsed = data && sum(data, 'actions') + sum(data, 'previous_actions') > 0;
  const total = hasTotal && data && <Total rows={data} report={report} />;
  return (
    <ChartCard title={title} order={order} total={total} actions={actions}>
      <ProblemAlert error={error} />
      {isPending && <Skeleton height={height} />}
      {data && !isUsed && <Text c="dimmed">No usage in this time.</Text>}
      {data && isUsed && (
        <>
          {choice}
          <LineChart
            title={`${nameOf(measure)} by ${interval}, and in the previous period. The table has the numbers.`}
            series={seriesOf(data, interval, measure)}
            height={height}
          />
          <ChartTable>
            <Suspense fallback={<Skeleton height={height} />}>
              <UsageTable rows={data} interval={interval} />
            </Suspense>
          </ChartTable>
        </>
      )}
    </ChartCard>
  );
};

type CardProps = { title: string; order: 2 | 3; total?: ReactNode; actions: ReactNode; children: ReactNode };

/** A chart below its title. */
export const ChartCard = ({ title, order, total, actions, children }: CardProps) => (
  <Stack className="card" component="section" aria-label={title} mt="md">
    <Group justify="space-between">
      <Group gap="sm" align="baseline">
        <Title order={order} size="h3">
          {title}
        </Title>
        {total}
      </Group>
      <Group>{actions}</Group>
    </Group>
    {children}
  </Stack>
);

const nameOf = (measure: Measure): string => (measure === 'actions' ? 'Actions' : 'People');

const sum = (rows: readonly UsagePeriod[], field: Measure | `previous_${Measure}`): number =>
  rows.reduce((total, row) => total + (row[field] ?? 0), 0);

/** The total number of actions, compared with the period before. */
const Total = ({ rows, report }: { rows: readonly UsagePeriod[]; report: Report }) => {
  const full = ended(rows.toReversed());
  const compared = { value: sum(full, 'actions'), before: sum(full, 'previous_actions') };
  const actions = sum(rows, 'actions');
  return (
    <Group gap={6}>
      <Text size="sm">
        {actions.toLocaleString()} {actions === 1 ? 'action' : 'actions'}
      </Text>
      <Trend
        {...compared}
        isWhole={isWholePeriod(previousActions(rows), report.interval)}
        title={comparisonText(report, compared)}
      />
    </Group>
  );
};

const seriesOf = (
  rows: readonly UsagePeriod[],
  interval: Interval,
  measure: Measure,
): [Series, ...Series[]] => {
  const oldestFirst = rows.toReversed();
  const previous = `previous_${measure}` as const;
  return [
    {
      name: nameOf(measure),
      kind: 'main',
      isUnfinished: true,
      points: oldestFirst.map((row) => ({
        ...namesOf(interval, row.start, row.end),
        value: row[measure] ?? 0,
      })),
    },
    ...(sum(rows, previous) > 0
      ? [
          {
            name: 'Previous period',
            kind: 'before' as const,
            points: oldestFirst.map((row) => ({
              ...namesOf(interval, row.previous_start, row.previous_end),
              value: row[previous] ?? 0,
            })),
          },
        ]
      : []),
  ];
};
