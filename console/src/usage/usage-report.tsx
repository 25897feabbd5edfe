import { Group, SegmentedControl, Select, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { trpc } from '../api.ts';
import { ChartTable } from '../charts/chart-table.tsx';
import { LineChart, type Series } from '../charts/line-chart.tsx';
import { Trend } from '../charts/trend.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { oneOf } from '../components/search-params.ts';
import { namesOf, periodLabel, previousActions, type UsagePeriod, useReport } from './usage-data.ts';
import {
  comparisonText,
  ended,
  type Interval,
  isWholePeriod,
  PERIODS,
  type Period,
  type Report,
  spanOf,
} from './usage-filter.ts';

const HEIGHT = 260;

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

const MEASURES = [
  { value: 'actions', label: 'Actions' },
  { value: 'users', label: 'People' },
] as const;
type Measure = (typeof MEASURES)[number]['value'];

/**
 * A chart of usage, compared with the period before, and its numbers. Of one app, it draws either actions or people, which one axis does
 * not fit. People of several apps cannot be added up.
 */
export const UsageReport = (props: Props) => {
  const { title, order = 2, report, height = HEIGHT, hasTotal = false, actions } = props;
  const { data, error, isPending } = useReport(report);
  const { interval } = report;
  const [chosen, choose] = useState<Measure>('actions');
  const hasUsers = data?.some(({ users }) => users !== null) ?? false;
  const measure = hasUsers ? chosen : 'actions';
  const isUsed = data && sum(data, 'actions') + sum(data, 'previous_actions') > 0;
  const total = hasTotal && data && <Total rows={data} report={report} />;
  return (
    <ChartCard title={title} order={order} total={total} actions={actions}>
      <ProblemAlert error={error} />
      {isPending && <Skeleton height={height} />}
      {data && !isUsed && <Text c="dimmed">No usage in this time.</Text>}
      {data && isUsed && (
        <>
          {hasUsers && (
            <SegmentedControl
              aria-label="Drawn"
              size="xs"
              mr="auto"
              data={[...MEASURES]}
              value={measure}
              onChange={(value) => choose(value)}
            />
          )}
          <LineChart
            title={`${nameOf(measure)} by ${interval}, and in the previous period. The table has the numbers.`}
            series={seriesOf(data, interval, measure)}
            height={height}
          />
          <ChartTable>
            <PeriodTable
              label={`Usage by ${interval}`}
              rows={data}
              interval={interval}
              columns={columnsOf(data)}
            />
            <Note interval={interval} />
          </ChartTable>
        </>
      )}
    </ChartCard>
  );
};

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
  const [first] = loaded;
  const isComplete = loaded.length === apps.length;
  const columns = loaded.map(({ label, rows }): PeriodColumn => {
    const actionsOf = new Map(rows.map(({ start, actions }) => [start, actions]));
    return { heading: label, cell: ({ start }) => numberOf(actionsOf.get(start) ?? 0) };
  });
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
      {!isComplete && !error && <Skeleton height={HEIGHT} />}
      {isComplete && line && first && (
        <>
          <LineChart
            title={`Actions by ${interval}, with a line for each app. The table has the numbers.`}
            series={[line, ...others]}
            height={HEIGHT}
          />
          <ChartTable>
            <PeriodTable
              label={`Actions by ${interval} and app`}
              rows={first.rows}
              interval={interval}
              columns={columns}
            />
          </ChartTable>
        </>
      )}
    </ChartCard>
  );
};

const LINES = ['line1', 'line2', 'line3', 'line4', 'line5'] as const;

type CardProps = { title: string; order: 2 | 3; total?: ReactNode; actions: ReactNode; children: ReactNode };

const ChartCard = ({ title, order, total, actions, children }: CardProps) => (
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

const DEFAULT = PERIODS[0].value;

type ChoiceProps = { period: Period | undefined; onChange: (period: Period | undefined) => void };

/** How far back a chart goes. The same choices on all screens. */
export const PeriodChoice = ({ period = DEFAULT, onChange }: ChoiceProps) => {
  const choose = (value: string | null): void => {
    const chosen = oneOf(
      value,
      PERIODS.map((one) => one.value),
    );
    onChange(chosen === DEFAULT ? undefined : chosen);
  };
  const data = PERIODS.map(({ value, label }) => ({ value, label }));
  return (
    <>
      <SegmentedControl
        visibleFrom="md"
        size="xs"
        aria-label="Period"
        data={data}
        value={period}
        onChange={choose}
      />
      <Select
        hiddenFrom="md"
        size="xs"
        w="8rem"
        aria-label="Period"
        allowDeselect={false}
        data={data}
        value={period}
        onChange={choose}
      />
    </>
  );
};

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

type PeriodColumn = { heading: string; cell: (row: UsagePeriod) => ReactNode };

const signed = new Intl.NumberFormat(undefined, { signDisplay: 'exceptZero' });
const numberOf = (value: number | null): string => value?.toLocaleString() ?? '–';
const changeOf = (value: number | null): string => (value === null ? '–' : signed.format(value));

const columnsOf = (rows: readonly UsagePeriod[]): PeriodColumn[] => [
  { heading: 'Actions', cell: ({ actions }) => numberOf(actions) },
  { heading: 'Previous period', cell: ({ previous_actions }) => numberOf(previous_actions) },
  { heading: 'Change', cell: ({ actions_change }) => changeOf(actions_change) },
  ...(rows.some(({ users }) => users !== null)
    ? [
        { heading: 'People', cell: ({ users }: UsagePeriod) => numberOf(users) },
        {
          heading: 'People, previous period',
          cell: ({ previous_users }: UsagePeriod) => numberOf(previous_users),
        },
        { heading: 'Change of people', cell: ({ users_change }: UsagePeriod) => changeOf(users_change) },
      ]
    : []),
];

const HEADINGS = { day: 'Day', week: 'Week', month: 'Month' } satisfies Record<Interval, string>;

type TableProps = {
  label: string;
  rows: readonly UsagePeriod[];
  interval: Interval;
  columns: readonly PeriodColumn[];
};

/** The numbers of a chart, newest first. */
const PeriodTable = ({ label, rows, interval, columns }: TableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
  <section className="day-table" aria-label={`${label}, newest first`} tabIndex={0}>
    <Table className="numbers" stickyHeader aria-label={label}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{HEADINGS[interval]}</Table.Th>
          {columns.map(({ heading }) => (
            <Table.Th key={heading} ta="right">
              {heading}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={row.start}>
            <Table.Td
              className="nowrap"
              title={`Compared with ${periodLabel(interval, row.previous_start, row.previous_end)}`}
            >
              {periodLabel(interval, row.start, row.end)}
            </Table.Td>
            {columns.map(({ heading, cell }) => (
              <Table.Td key={heading} ta="right">
                {cell(row)}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </section>
);

const Note = ({ interval }: { interval: Interval }) => (
  <Text size="sm" c="dimmed" mt="sm">
    Days are UTC days.{' '}
    {interval === 'day'
      ? 'Today has not ended.'
      : `A ${interval} that has not ended is compared with as many days.`}{' '}
    Percentages leave it out.
  </Text>
);
