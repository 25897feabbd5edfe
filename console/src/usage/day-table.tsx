import { Table } from '@mantine/core';
import { dayText } from '../components/date-text.tsx';
import type { UsageDay } from './usage-by-day.tsx';

type Props = { days: UsageDay[]; hasUsers: boolean };

/** The numbers of the chart, newest first. */
export const DayTable = ({ days, hasUsers }: Props) => (
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
