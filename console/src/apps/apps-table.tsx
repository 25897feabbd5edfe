import { Group, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { Sparkline } from '../charts/sparkline.tsx';
import { AppLink } from '../components/app-link.tsx';
import type { Column } from '../components/virtual-table.tsx';
import { DAYS_OF } from '../idle/idle-filter.ts';
import { serverNow } from '../server-clock.ts';
import { type App, showsUsage, versionOf } from './app-of.ts';
import type { DailyUsage } from './use-daily-usage.ts';

const DAY_MS = 86_400_000;

/** @param clients the clients that the user may see; the column is shown if there are several */
export const appColumns = (
  clients: { id: number; name: string }[],
  daily: ReadonlyMap<string, DailyUsage>,
): Column<App>[] => [
  {
    heading: 'App',
    width: 'minmax(9rem, 2fr)',
    cell: (app) => <AppLink app={app} isNew={isNew(app, daily.get(app.id))} />,
  },
  ...(clients.length > 1
    ? [
        {
          heading: 'Client',
          width: 'minmax(8rem, 1fr)',
          onPhone: 'half' as const,
          cell: ({ id }: App) => clients.find((client) => client.id === daily.get(id)?.client)?.name ?? '',
        },
      ]
    : []),
  { heading: 'Version', width: '6.5rem', onPhone: 'half', cell: (app) => versionOf(app) ?? '–' },
  {
    heading: 'People with access',
    width: '7.5rem',
    onPhone: 'half',
    cell: (app) => <AccessCell app={app} />,
  },
  {
    heading: 'People, 30 days',
    width: '7.5rem',
    onPhone: 'half',
    cell: ({ usage }) => usage['30']?.users.toLocaleString() ?? '–',
  },
  {
    heading: 'Actions, 30 days',
    width: '12rem',
    cell: ({ id, usage }) => (
      <Group gap="xs" wrap="nowrap">
        <Text span fz="inherit" miw="3rem">
          {usage['30']?.actions.toLocaleString() ?? '–'}
        </Text>
        <Sparkline values={daily.get(id)?.daily_actions} />
      </Group>
    ),
  },
];

/** Added within the window after which it would count as unused, and without any use. */
const isNew = ({ usage }: App, daily: DailyUsage | undefined): boolean =>
  daily !== undefined &&
  usage['90']?.actions === 0 &&
  serverNow() - daily.created_at.getTime() < DAYS_OF.apps * DAY_MS;

/** The calls of all visible rows share one request. */
const AccessCell = ({ app }: { app: App }) => {
  const { slug } = app;
  const people = useQuery(trpc.users.count.queryOptions({ app: slug }, { enabled: showsUsage(app) }));
  if (!people.data) return people.isLoading ? <Skeleton width={24} height={16} /> : '–';
  return (
    <Link className="action-link" to="/people" search={{ app: slug }}>
      {people.data.count.toLocaleString()}
    </Link>
  );
};
