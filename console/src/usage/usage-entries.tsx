import { Skeleton, Stack, Text, Title } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { capitalized } from '../components/capitalized.ts';
import type { Column } from '../components/column.ts';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { VirtualTable } from '../components/virtual-table.tsx';

type Entry = Outputs['usage']['list']['items'][number];

const PAGE_SIZE = 100;

/** Apps send upper-case words; the gate reports the opening of a page group. */
const wordsOf = (action: string): string =>
  action === 'STACK_ACCESS' ? 'Opened a page group' : capitalized(action.replaceAll('_', ' ').toLowerCase());

const COLUMNS: Column<Entry>[] = [
  {
    heading: 'Time',
    width: '10rem',
    onPhone: 'plain',
    cell: ({ timestamp }) => <DateText date={timestamp} />,
  },
  {
    heading: 'Person',
    width: '1fr',
    onPhone: 'title',
    cell: ({ email, full_name }) => (
      <Link className="text-link" to="/people/$email" params={{ email }} title={email}>
        {full_name || email}
      </Link>
    ),
  },
  {
    heading: 'Action',
    width: '1fr',
    onPhone: 'corner',
    cell: ({ action }) => (
      <Text span fz="inherit" c="dimmed" title={action}>
        {wordsOf(action)}
      </Text>
    ),
  },
  {
    heading: 'Description',
    width: '2fr',
    onPhone: 'plain',
    cell: ({ action_description }) => action_description,
  },
];

/** What people did in an app, newest first. */
export const UsageEntries = ({ appId, email }: { appId: string; email: string | undefined }) => {
  const entries = useInfiniteQuery(
    trpc.usage.list.infiniteQueryOptions(
      { app_id: appId, email, limit: PAGE_SIZE },
      {
        getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
        placeholderData: keepPreviousData,
      },
    ),
  );
  const rows = entries.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <Stack className="card" mt="md">
      <Title order={2} size="h3">
        Newest entries
      </Title>
      <ProblemAlert error={entries.error} />
      {entries.isPending && <Skeleton height={320} />}
      {entries.isSuccess && rows.length === 0 && (
        <Text c="dimmed">Nothing was recorded yet. Entries appear when people use the app.</Text>
      )}
      {rows.length > 0 && (
        <VirtualTable
          label="Newest entries"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ id }) => id}
          hasMore={entries.hasNextPage && !entries.isFetchingNextPage}
          onMore={() => void entries.fetchNextPage()}
        />
      )}
    </Stack>
  );
};
