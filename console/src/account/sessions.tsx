import { Badge, Button, Group, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import type { Column } from '../components/virtual-table.tsx';

type Session = Outputs['sessions']['list'][number];

const PAGE_SIZE = 50;

/** The browsers in which the user is logged in. */
export const Sessions = () => {
  const queryClient = useQueryClient();
  const sessions = useInfiniteQuery(
    trpc.sessions.list.infiniteQueryOptions(
      { limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const revoke = useMutation(
    trpc.sessions.revoke.mutationOptions({
      onSuccess: () => {
        void queryClient.invalidateQueries(trpc.sessions.list.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
        notifications.show({ message: 'Session revoked.' });
      },
    }),
  );
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        Sessions
      </Title>
      <Text c="dimmed">Browsers in which you are logged in.</Text>
      <ProblemAlert error={revoke.error} />
      <PagedTable
        label="Sessions"
        columns={columnsOf((id) => revoke.mutate({ id }))}
        pages={sessions}
        keyOf={({ id }) => id}
        empty={null}
      />
    </Stack>
  );
};

const columnsOf = (revoke: (id: number) => void): Column<Session>[] => [
  {
    heading: 'Browser',
    width: '2fr',
    cell: ({ user_agent: agent, is_current: isCurrent }) => (
      <Group gap="xs" wrap="nowrap">
        {isCurrent && (
          <Badge variant="default" flex="none" tt="none">
            This one
          </Badge>
        )}
        <Text span size="sm" truncate title={agent}>
          {agent}
        </Text>
      </Group>
    ),
  },
  { heading: 'IP address', width: '1fr', cell: ({ last_address: address }) => address },
  { heading: 'Last used', width: '1fr', cell: ({ last_used: date }) => <DateText date={date} /> },
  { heading: 'Logged in', width: '1fr', cell: ({ created_at: date }) => <DateText date={date} /> },
  {
    heading: 'Revoke',
    width: '6rem',
    cell: ({ id, is_current: isCurrent, last_address: address }) =>
      !isCurrent && (
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => revoke(id)}
          aria-label={`Revoke the session ${id} from ${address}`}
        >
          Revoke
        </Button>
      ),
  },
];
