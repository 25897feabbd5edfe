import { Anchor, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { capitalized } from '../components/detail-words.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { type Column, VirtualTable } from '../components/virtual-table.tsx';

type Entry = Outputs['usage']['list']['items'][number];

const PAGE_SIZE = 100;

/** `Stack access` for `STACK_ACCESS`, the form that apps send. */
const wordsOf = (action: string): string => capitalized(action.replaceAll('_', ' ').toLowerCase());

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
      <Link className="text-link" to="/people/$email" params={{ email }}>
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

type Props = {
  appId: string;
  email: string | undefined;
  /** The days in the CSV file. */
  days: number;
};

/** What people did in an app, newest first. */
export const UsageEntries = ({ appId, email, days }: Props) => {
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
      <Group justify="space-between">
        <Title order={2} size="h3">
          Newest entries
        </Title>
        <CsvLink appId={appId} email={email} days={days} />
      </Group>
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

/** Downloads all entries of these days. */
const CsvLink = ({ appId, email, days }: Props) => {
  const path =
    email === undefined
      ? `apps/${encodeURIComponent(appId)}/usage/`
      : `users/${encodeURIComponent(email)}/usage/${encodeURIComponent(appId)}/`;
  return (
    <Anchor size="sm" href={`/api/v1/jb/${path}?window=${days}&format=csv`} download="usage.csv">
      Download the entries of {days.toLocaleString()} days as CSV
    </Anchor>
  );
};
