import { Group, SegmentedControl, Skeleton, Stack, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { DayTable } from './day-table.tsx';

export type UsageDay = Outputs['usage']['series'][number];

const CHART_HEIGHT = 260;
/** The library of charts is half as large as the first screen. */
const UsageChart = lazy(async () => ({ default: (await import('./usage-chart.tsx')).UsageChart }));

type Props<Days extends number> = {
  /** At least one of the two. */
  subject: { app_id?: string | undefined; email?: string | undefined };
  days: Days;
  windows: readonly Days[];
  onDays: (days: Days) => void;
  /** Beside the switch. */
  actions?: ReactNode;
};

/** A chart of the last days, and its numbers. */
export const UsageByDay = <Days extends number>(props: Props<Days>) => {
  const { subject, days, windows, onDays, actions } = props;
  const series = useQuery(
    trpc.usage.series.queryOptions({ ...subject, window: days }, { placeholderData: keepPreviousData }),
  );
  const hasUsers = subject.email === undefined;
  return (
    <Stack className="card" mt="md">
      <Group justify="space-between">
        <Title order={2} size="h3">
          Usage per day
        </Title>
        <Group>
          {actions}
          <SegmentedControl
            aria-label="Days"
            size="xs"
            data={windows.map((window) => ({ value: String(window), label: `${window} days` }))}
            value={String(days)}
            onChange={(value) => onDays(windows.find((window) => String(window) === value) ?? days)}
          />
        </Group>
      </Group>
      <ProblemAlert error={series.error} />
      {series.isPending && <Skeleton height={CHART_HEIGHT} />}
      {series.data && (
        <>
          <Suspense fallback={<Skeleton height={CHART_HEIGHT} />}>
            <UsageChart days={series.data} hasUsers={hasUsers} />
          </Suspense>
          <DayTable days={series.data} hasUsers={hasUsers} />
        </>
      )}
    </Stack>
  );
};
