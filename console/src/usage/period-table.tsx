import { Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { periodLabel, type UsagePeriod } from './usage-data.ts';
import type { Interval } from './usage-filter.ts';

type PeriodColumn = { heading: string; cell: (row: UsagePeriod) => ReactNode };

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

type UsageProps = { rows: readonly UsagePeriod[]; interval: Interval };

/** The usage of each interval, compared with the one before. */
export const UsageTable = ({ rows, interval }: UsageProps) => (
  <>
    <PeriodTable label={`Usage by ${interval}`} rows={rows} interval={interval} columns={columnsOf(rows)} />
    <Note interval={interval} />
  </>
);

type ComparedProps = {
  apps: readonly { label: string; rows: readonly UsagePeriod[] }[];
  interval: Interval;
};

/** The actions in some apps side by side. */
export const ComparisonTable = ({ apps, interval }: ComparedProps) => {
  const columns = apps.map(({ label, rows }): PeriodColumn => {
    const actionsOf = new Map(rows.map(({ start, actions }) => [start, actions]));
    return { heading: label, cell: ({ start }) => numberOf(actionsOf.get(start) ?? 0) };
  });
  return (
    <PeriodTable
      label={`Actions by ${interval} and app`}
      rows={apps[0]?.rows ?? []}
      interval={interval}
      columns={columns}
    />
  );
};

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

const Note = ({ interval }: { interval: Interval }) => (
  <Text size="sm" c="dimmed" mt="sm">
    Days are UTC days.{' '}
    {interval === 'day'
      ? 'Today has not ended.'
      : `A ${interval} that has not ended is compared with as many days.`}{' '}
    Percentages leave it out.
  </Text>
);
