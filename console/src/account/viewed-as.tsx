import { Button, Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import type { Column } from '../components/column.ts';
import { DateText } from '../components/date-text.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useEndLook } from '../person/running-looks.tsx';

const PAGE_SIZE = 50;

type Look = Outputs['profile']['viewedAs'][number];

/** Who looked at apps as the user, when and why. */
export const ViewedAs = () => {
  const looks = useInfiniteQuery(
    trpc.profile.viewedAs.infiniteQueryOptions(
      { limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const end = useEndLook();
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        Who looked as you
      </Title>
      <Text c="dimmed">Admins may look at an app as you, with your data. They cannot change anything.</Text>
      <ProblemAlert error={end.error} />
      <PagedTable
        label="Who looked as you"
        columns={columnsOf(({ id }) => end.mutate({ id }))}
        pages={looks}
        keyOf={({ id }) => id}
        empty={<Text c="dimmed">No one has looked at an app as you.</Text>}
      />
    </Stack>
  );
};

const columnsOf = (end: (look: Look) => void): Column<Look>[] => [
  { heading: 'Who', width: '1.5fr', cell: ({ actor, actor_name: name }) => name || actor },
  { heading: 'App', width: '1fr', cell: ({ app_label }) => app_label },
  { heading: 'Reason', width: '2fr', cell: ({ reason }) => reason },
  { heading: 'From', width: '1fr', cell: ({ begun_at }) => <DateText date={begun_at} /> },
  {
    id: 'end',
    heading: 'Until',
    width: '1fr',
    cell: (look) =>
      look.ended_at ? (
        <DateText date={look.ended_at} />
      ) : (
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => end(look)}
          aria-label={`Stop ${look.actor} viewing ${look.app_label}`}
        >
          Stop
        </Button>
      ),
  },
];
