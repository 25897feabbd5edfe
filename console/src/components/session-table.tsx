import { Badge, Button, Group, Text } from '@mantine/core';
import type { Outputs } from '../api.ts';
import { browserName } from './browser-name.ts';
import type { Column } from './column.ts';
import { DateText } from './date-text.tsx';
import { PagedTable, type Pages } from './paged-table.tsx';

export type Session = Outputs['sessions']['list'][number];

type Props = { pages: Pages<Session>; onRevoke: (session: Session) => void };

/** The browsers in which a user is logged in. */
export const SessionTable = ({ pages, onRevoke }: Props) => (
  <PagedTable
    label="Sessions"
    columns={columnsOf(onRevoke)}
    pages={pages}
    keyOf={({ id }) => id}
    empty={<Text c="dimmed">No browser is logged in.</Text>}
  />
);

const columnsOf = (revoke: (session: Session) => void): Column<Session>[] => [
  {
    heading: 'Browser',
    width: '2fr',
    cell: ({ user_agent: agent, is_current: isCurrent }) => (
      <Group gap="xs" wrap="nowrap">
        <Text span size="sm" truncate title={agent}>
          {browserName(agent)}
        </Text>
        {isCurrent && (
          <Badge variant="default" flex="none" tt="none">
            This one
          </Badge>
        )}
      </Group>
    ),
  },
  { heading: 'IP address', width: '1fr', cell: ({ last_address: address }) => address || '–' },
  { heading: 'Last used', width: '1fr', cell: ({ last_used: date }) => <DateText date={date} /> },
  { heading: 'Logged in', width: '1fr', cell: ({ created_at: date }) => <DateText date={date} /> },
  {
    id: 'revoke',
    heading: <span className="visually-hidden">Revoke</span>,
    width: '6rem',
    onPhone: 'corner',
    cell: (session) =>
      !session.is_current && (
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => revoke(session)}
          aria-label={`Revoke the session ${session.id} from ${session.last_address}`}
        >
          Revoke
        </Button>
      ),
  },
];
