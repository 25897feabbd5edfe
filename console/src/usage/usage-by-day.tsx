import { Group, SegmentedControl, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ChartTable } from '../charts/chart-table.tsx';
import { LineChart, type Series } from '../charts/line-chart.tsx';
import { dayText, shortDayText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

export type UsageDay = Outputs['usage']['series'][number];

const CHART_HEIGHT = 260;

type Props<Days extends number> = {
  /** At least one of the two is set. */
  subject: { app_id?: string | undefined; email?: string | undefined };
  days: Days;
  windows: readonly Days[];
  onDays: (days: Days) => void;
  /** Shown next to the switch. */
  actions?: ReactNode;
};

/** A chart of the last days, and its numbers. */
export const UsageByDay = <Days extends number>(props: Props<Days>) => {
  const { subject, days, windows, onDays, actions } = props;
  const series = useQuery(
    trpc.usage.series.queryOptions({ ...subject, window: days }, { placeholderData: keepPreviousData }),
  );
  const isUsed = series.data?.some(({ actions }) => actions > 0);
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
      {series.data && !isUsed && <Text c="dimmed">No usage in {days} days.</Text>}
      {series.data && isUsed && (
        <>
          <LineChart
            title={`${hasUsers ? 'Actions and people' : 'Actions'} per day. The table has the numbers.`}
            series={seriesOf(series.data, hasUsers)}
            height={CHART_HEIGHT}
          />
          <ChartTable>
            <DayTable days={series.data} hasUsers={hasUsers} />
          </ChartTable>
        </>
      )}
    </Stack>
  );
};

const seriesOf = (days: readonly UsageDay[], hasUsers: boolean): [Series, ...Series[]] => {
  const pointsOf = (key: 'actions' | 'users') =>
    days.map((row) => ({ label: dayText(row.day), axis: shortDayText(row.day), value: row[key] }));
  const actions: Series = { name: 'Actions', kind: 'main', points: pointsOf('actions') };
  return hasUsers ? [actions, { name: 'People', kind: 'other', points: pointsOf('users') }] : [actions];
};

type DayTableProps = { days: UsageDay[]; hasUsers: boolean };

/** The numbers of the chart, newest first. */
const DayTable = ({ days, hasUsers }: DayTableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
  <section className="day-table" aria-label="Usage per day, newest first" tabIndex={0}>
    <Table className="numbers" stickyHeader aria-label="Usage per day">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Day (UTC)</Table.Th>
          <Table.Th ta="right">Actions</Table.Th>
          {hasUsers && <Table.Th ta="right">People</Table.Th>}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {days.toReversed().map(({ day, actions, users }) => (
          <Table.Tr key={day}>
            <Table.Td>{dayText(day)}</Table.Td>
            <Table.Td ta="right">{actions.toLocaleString()}</Table.Td>
            {hasUsers && <Table.Td ta="right">{users.toLocaleString()}</Table.Td>}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </section>
);
