import { Button, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { useAppLabels } from '../components/changes.tsx';
import { useClients } from '../components/client-select.tsx';
import { dateOf, exactTimeOf } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { Tags } from '../components/tags.tsx';
import type { Column } from '../components/virtual-table.tsx';
import { mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { NewGroup } from './new-group.tsx';

const route = getRouteApi('/groups');

const PAGE_SIZE = 100;

type GroupRow = Outputs['groups']['list'][number];

/** The teams of a client, with their apps. */
export const GroupsScreen = () => {
  const filter = route.useSearch();
  const { roles } = useSession();
  const clients = useClients();
  const [isCreating, { open, close }] = useDisclosure();
  const client = clients.find(({ id }) => id === filter.client) ?? clients[0];
  if (!client)
    return (
      <>
        <ScreenHeader title="Groups" />
        <EmptyState title="There are no clients yet">Create one first.</EmptyState>
      </>
    );
  const mayChange = mayDo(roles, 'manage-people', client.id);
  return (
    <>
      <ScreenHeader
        title="Groups"
        lead={`Teams of ${client.name}. Members have the apps of their groups.`}
        actions={mayChange && <Button onClick={open}>New group</Button>}
      />
      <GroupTable key={client.id} client={client.id} onCreate={mayChange ? open : undefined} />
      {isCreating && <NewGroup client={client.id} onClose={close} />}
    </>
  );
};

type TableProps = {
  client: number;
  /** Undefined for users who may not create groups. */
  onCreate: (() => void) | undefined;
};

const GroupTable = ({ client, onCreate }: TableProps) => {
  const appLabels = useAppLabels();
  const groups = useInfiniteQuery(
    trpc.groups.list.infiniteQueryOptions(
      { id: client, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  return (
    <PagedTable
      label="Groups"
      columns={columnsOf(appLabels)}
      pages={groups}
      keyOf={({ id }) => id}
      empty={
        <EmptyState
          title="There are no groups yet"
          action={
            onCreate && (
              <Button variant="default" onClick={onCreate}>
                Create the first group
              </Button>
            )
          }
        >
          {onCreate
            ? 'Create one to give several people the same apps, and to take them away together.'
            : 'Admins of the client create them.'}
        </EmptyState>
      }
    />
  );
};

const columnsOf = (appLabels: ReadonlyMap<string, string>): Column<GroupRow>[] => [
  {
    heading: 'Name',
    width: 'minmax(9rem, 2fr)',
    cell: ({ id, client, name }) => (
      <Link
        className="text-link"
        to="/groups/$client/$group"
        params={{ client: String(client), group: String(id) }}
      >
        {name}
      </Link>
    ),
  },
  {
    heading: 'Members',
    width: '6rem',
    onPhone: 'corner',
    cell: ({ member_count: count }) => (
      <>
        {count.toLocaleString()}{' '}
        <Text span fz="inherit" hiddenFrom="sm">
          {count === 1 ? 'member' : 'members'}
        </Text>
      </>
    ),
  },
  {
    heading: 'Apps',
    width: 'minmax(9rem, 3fr)',
    cell: ({ apps }) =>
      apps.length === 0 ? '–' : <Tags names={apps.map((id) => appLabels.get(id) ?? id)} shown={4} />,
  },
  {
    heading: 'Created',
    width: '7rem',
    cell: ({ created_at: date }) => <span title={exactTimeOf(date)}>{dateOf(date)}</span>,
  },
];
