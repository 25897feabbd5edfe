import { Anchor, Box, Group, SegmentedControl, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { Trend } from '../charts/trend.tsx';
import { capitalized } from '../components/capitalized.ts';
import type { Column } from '../components/column.ts';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { VirtualTable } from '../components/virtual-table.tsx';
import { peopleWithAccess } from '../views/views.ts';
import { comparisonText, type Interval } from './usage-filter.ts';

type RankingProps = {
  title: string;
  headings: string[];
  rows: { key: string; cells: ReactNode[] }[] | undefined;
  actions?: ReactNode;
};

/** The first items of a ranking, highest first. */
const Ranking = ({ title, headings, rows, actions }: RankingProps) => (
  <Stack className="card" gap="xs">
    <Group justify="space-between">
      <Title order={2} size="h3">
        {title}
      </Title>
      {actions}
    </Group>
    {rows === undefined && <Skeleton height={120} />}
    {rows?.length === 0 && <Text c="dimmed">No usage in these days. Choose a longer period.</Text>}
    {rows !== undefined && rows.length > 0 && (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      <section className="scrolls" aria-label={title} tabIndex={0}>
        <Table className="numbers" aria-label={title}>
          <Table.Thead>
            <Table.Tr>
              {headings.map((heading, index) => (
                <Table.Th key={heading} ta={index === 0 ? 'left' : 'right'}>
                  {heading}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ key, cells }) => (
              <Table.Tr key={key}>
                {cells.map((cell, index) => (
                  <Table.Td key={headings[index]} ta={index === 0 ? 'left' : 'right'}>
                    {cell}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </section>
    )}
  </Stack>
);

const SORTS = [
  { value: 'actions', label: 'Most used' },
  { value: 'unused_seats', label: 'Most unused seats' },
] as const;

type AppsProps = {
  client: number | undefined;
  /** The compared apps; undefined: all of the client. */
  apps?: string[];
  time: { interval: Interval; periods: number };
  /** The number of days in this time; 0: not known yet. */
  days: number;
  onApp: (id: string) => void;
};

/** Apps with their use, and how many of the people with access used them. The numbers of people lead to lists of these people. */
export const AppFigures = ({ client, apps, time, days, onApp }: AppsProps) => {
  const [sort, setSort] = useState<(typeof SORTS)[number]['value']>('actions');
  const figures = useQuery(
    trpc.usage.byApp.queryOptions(
      { client, app_ids: apps, ...time, sort },
      { placeholderData: keepPreviousData },
    ),
  );
  const rows = figures.data?.apps.map((app) => ({
    key: app.id,
    cells: [
      <Anchor key="app" component="button" fz="inherit" className="text-link" onClick={() => onApp(app.id)}>
        {app.label}
      </Anchor>,
      <Group key="actions" gap={6} justify="flex-end" wrap="nowrap">
        {app.actions.toLocaleString()}
        <Box visibleFrom="sm" className="nowrap">
          <Trend
            value={app.full_actions}
            before={app.previous_full_actions}
            isWhole
            title={comparisonText(time, { value: app.full_actions, before: app.previous_full_actions })}
          />
        </Box>
      </Group>,
      app.users.toLocaleString(),
      <Link
        key="seats"
        className="action-link"
        to="/people"
        search={peopleWithAccess(app)}
        aria-label={`${app.seats.toLocaleString()} with access to ${app.label}`}
      >
        {app.seats.toLocaleString()}
      </Link>,
      <Link
        key="unused"
        className="action-link"
        to="/people"
        search={{ ...peopleWithAccess(app), app_unused_days: days || undefined }}
        aria-label={`${app.unused_seats.toLocaleString()} with access to ${app.label} did not use it`}
      >
        {app.unused_seats.toLocaleString()}
      </Link>,
    ],
  }));
  return (
    <Stack mt="md" gap="xs">
      <ProblemAlert error={figures.error} />
      {!figures.isError && (
        <Ranking
          title="Apps"
          headings={['App', 'Actions', 'People', 'Seats', 'Unused']}
          rows={rows}
          actions={
            apps === undefined && (
              <SegmentedControl
                size="xs"
                aria-label="Order"
                data={[...SORTS]}
                value={sort}
                onChange={(value) => setSort(SORTS.find((one) => one.value === value)?.value ?? 'actions')}
              />
            )
          }
        />
      )}
      <Text size="sm" c="dimmed">
        A seat is an active person with access by a grant or a group. It is unused if the app recorded no
        action of theirs in this time.
      </Text>
    </Stack>
  );
};

type TopProps = { appId: string; days: number };

const useTop = ({ appId, days }: TopProps) =>
  useQuery(
    trpc.usage.top.queryOptions(
      { app_id: appId, window: days },
      { enabled: days > 0, placeholderData: keepPreviousData },
    ),
  );

/** The most active people of an app. */
export const TopUsers = (props: TopProps) => {
  const top = useTop(props);
  const rows = top.data?.users.map(({ email, full_name, actions, days }) => ({
    key: email,
    cells: [
      <Link key="link" className="text-link" to="/people/$email" params={{ email }}>
        {full_name || email}
      </Link>,
      days.toLocaleString(),
      actions.toLocaleString(),
    ],
  }));
  return (
    <div>
      <ProblemAlert error={top.error} />
      {!top.isError && <Ranking title="Top people" headings={['Person', 'Days', 'Actions']} rows={rows} />}
    </div>
  );
};

/** The most used stacks of an app. */
export const TopStacks = (props: TopProps) => {
  const top = useTop(props);
  // The list of people shows the reason.
  if (top.isError) return null;
  const rows = top.data?.stacks.map(({ stack, label, actions }) => ({
    key: stack,
    cells: [label, actions.toLocaleString()],
  }));
  return <Ranking title="Top page groups" headings={['Page group', 'Actions']} rows={rows} />;
};

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
