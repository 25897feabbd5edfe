import { Badge, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { type Column, VirtualTable } from '../components/virtual-table.tsx';
import { type App, showsUsage, versionOf } from './app-of.ts';

const COLUMNS: Column<App>[] = [
  { heading: 'App', width: '2fr', cell: (app) => <LabelCell app={app} /> },
  { heading: 'Version', width: '8rem', cell: (app) => versionOf(app) ?? 'not loaded' },
  { heading: 'People with access', width: '10rem', cell: (app) => <AccessCell app={app} /> },
  {
    heading: 'Active users, 30 days',
    width: '11rem',
    cell: ({ usage }) => usage['30']?.users.toLocaleString() ?? '–',
  },
  {
    heading: 'Actions, 30 days',
    width: '9rem',
    cell: ({ usage }) => usage['30']?.actions.toLocaleString() ?? '–',
  },
];

const LabelCell = ({ app: { id, label, in_maintenance } }: { app: App }) => (
  <Group gap="sm" wrap="nowrap">
    <Link className="text-link" to="/apps/$id" params={{ id }}>
      {label}
    </Link>
    {in_maintenance && <Badge variant="default">In maintenance</Badge>}
  </Group>
);

/** The calls of all visible rows share one request. */
const AccessCell = ({ app }: { app: App }) => {
  const { slug } = app;
  const people = useQuery(trpc.users.count.queryOptions({ app: slug }, { enabled: showsUsage(app) }));
  if (!people.data) return people.isLoading ? <Skeleton width={24} height={16} /> : '–';
  return (
    <Link className="text-link" to="/people" search={{ app: slug }}>
      {people.data.count.toLocaleString()}
    </Link>
  );
};

type Props = { apps: App[]; hasMore: boolean; onMore: () => void };

export const AppsTable = ({ apps, hasMore, onMore }: Props) => (
  <VirtualTable
    label="Apps"
    columns={COLUMNS}
    rows={apps}
    keyOf={({ id }) => id}
    hasMore={hasMore}
    onMore={onMore}
  />
);
