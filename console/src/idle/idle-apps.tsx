import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { AppLink } from '../components/app-link.tsx';
import { useClientName } from '../components/client-select.tsx';
import { dateOf, dayText, exactTimeOf } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import type { Column } from '../components/virtual-table.tsx';
import { hintFor } from './idle-filter.ts';

type App = Outputs['usage']['idleApps'][number];
type Props = { days: number; client: number | undefined };

const PAGE_SIZE = 100;

export const IdleApps = ({ days, client }: Props) => {
  const nameOfClient = useClientName();
  const apps = useInfiniteQuery(
    trpc.usage.idleApps.infiniteQueryOptions(
      { days, client, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        placeholderData: keepPreviousData,
      },
    ),
  );
  return (
    <PagedTable
      label="Idle apps"
      columns={columnsOf(nameOfClient)}
      pages={apps}
      keyOf={({ id }) => id}
      empty={<EmptyState title="No app is inactive">{hintFor(days, 'apps')}</EmptyState>}
    />
  );
};

const columnsOf = (nameOfClient: (id: number) => string): Column<App>[] => [
  { heading: 'App', width: '2fr', cell: (app) => <AppLink app={app} /> },
  { heading: 'Client', width: '1fr', onPhone: 'half', cell: ({ client }) => nameOfClient(client) },
  {
    heading: 'Last use',
    width: '1fr',
    onPhone: 'half',
    cell: ({ last_used_day: day }) => (day ? dayText(day) : 'never'),
  },
  {
    heading: 'Added',
    width: '1fr',
    cell: ({ created_at: date }) => <span title={exactTimeOf(date)}>{dateOf(date)}</span>,
  },
  {
    heading: 'People with access',
    width: '1fr',
    cell: ({ slug }) => (
      <Link className="action-link" to="/people" search={{ app: slug }}>
        Show
      </Link>
    ),
  },
];
