import { Skeleton } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { trpc } from '../api.ts';
import { ChartTable } from '../charts/chart-table.tsx';
import { LineChart, type Series } from '../charts/line-chart.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ComparisonTable } from './period-table.tsx';
import { CHART_HEIGHT, ChartCard } from './usage-chart.tsx';
import { namesOf } from './usage-data.ts';
import { type Period, spanOf } from './usage-filter.ts';

type ComparisonProps = {
  apps: { id: string; label: string }[];
  period: Period | undefined;
  actions: ReactNode;
};

/** The usage of some apps in one chart, and their numbers side by side. */
export const UsageComparison = ({ apps, period, actions }: ComparisonProps) => {
  const { interval, periods } = spanOf(period);
  const reports = useQueries({
    queries: apps.map(({ id }) => trpc.usage.report.queryOptions({ app_id: id, interval, periods })),
  });
  const loaded = reports.flatMap(({ data }, index) => {
    const app = apps[index];
    return app && data ? { ...app, rows: data } : [];
  });
  const error = reports.find((report) => report.error)?.error;
  const isComplete = loaded.length === apps.length;
  const lines = loaded.map(
    ({ label, rows }, index): Series => ({
      name: label,
      kind: LINES[index] ?? 'line5',
      isUnfinished: true,
      points: rows.toReversed().map(({ start, end, actions: value }) => ({
        ...namesOf(interval, start, end),
        value,
      })),
    }),
  );
  const [line, ...others] = lines;
  return (
    <ChartCard title={`Actions by ${interval}`} order={2} actions={actions}>
      <ProblemAlert error={error ?? null} />
      {!isComplete && !error && <Skeleton height={CHART_HEIGHT} />}
      {isComplete && line && (
        <>
          <LineChart
            title={`Actions by ${interval}, with a line for each app. The table has the numbers.`}
            series={[line, ...others]}
            height={CHART_HEIGHT}
          />
          <ChartTable>
            <ComparisonTable apps={loaded} interval={interval} />
          </ChartTable>
        </>
      )}
    </ChartCard>
  );
};

const LINES = ['line1', 'line2', 'line3', 'line4', 'line5'] as const;
