import { Table } from '@mantine/core';
import { periodLabel } from './period-label.ts';
import type { Interval } from './usage-filter.ts';
import type { UsagePeriod } from './use-report.ts';

type Props = { rows: UsagePeriod[]; interval: Interval };

const HEADINGS = { day: 'Day', week: 'Week', month: 'Month' } satisfies Record<Interval, string>;

const signed = new Intl.NumberFormat(undefined, { signDisplay: 'exceptZero' });

const numberOf = (value: number | null): string => value?.toLocaleString() ?? '–';
const changeOf = (value: number | null): string => (value === null ? '–' : signed.format(value));

/** The numbers of the chart, newest first. */
export const ReportTable = ({ rows, interval }: Props) => {
  const hasUsers = rows.some(({ users }) => users !== null);
  const numbers = [
    { heading: 'Actions', cell: ({ actions }: UsagePeriod) => numberOf(actions) },
    { heading: 'Previous period', cell: ({ previous_actions }: UsagePeriod) => numberOf(previous_actions) },
    { heading: 'Change', cell: ({ actions_change }: UsagePeriod) => changeOf(actions_change) },
    ...(hasUsers
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
  const label = `Usage by ${interval}`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="day-table" aria-label={`${label}, newest first`} tabIndex={0}>
      <Table className="numbers" stickyHeader aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{HEADINGS[interval]}</Table.Th>
            {numbers.map(({ heading }) => (
              <Table.Th key={heading} ta="right">
                {heading}
              </Table.Th>
            ))}
            <Table.Th ta="right">Compared with</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.start}>
              <Table.Td className="nowrap">{periodLabel(interval, row.start, row.end)}</Table.Td>
              {numbers.map(({ heading, cell }) => (
                <Table.Td key={heading} ta="right">
                  {cell(row)}
                </Table.Td>
              ))}
              <Table.Td ta="right" className="nowrap">
                {periodLabel(interval, row.previous_start, row.previous_end)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
};
