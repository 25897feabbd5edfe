import { Anchor, Box, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { Trend } from '../charts/trend.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { peopleWithAccess } from '../views/views.ts';
import { Ranking } from './rankings.tsx';
import { comparisonText, type Interval } from './usage-filter.ts';

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
