import { Group, Select, Skeleton, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { useSession } from '../layout/use-session.ts';
import type { AccessFilter } from './access-filter.ts';
import { AccessMatrix } from './access-matrix.tsx';
import { accessQuery, clientsToShow } from './access-query.ts';
import { GroupMenu, useShownGroups } from './group-columns.tsx';
import { SaveBar } from './save-bar.tsx';
import { type AccessUser, useCells } from './use-cells.ts';

/** The maximum number of cells in one request. */
const MAX_CELLS = 5_000;
const TYPING_MS = 150;
const route = getRouteApi('/access');

/** Who may open which app of a client: people as rows, apps as columns. */
export const AccessScreen = () => {
  const filter = route.useSearch();
  const { roles } = useSession();
  const all = useSuspenseQuery(trpc.clients.list.queryOptions({})).data;
  const { clients, client } = clientsToShow(all, roles, filter);
  if (!client)
    return (
      <>
        <ScreenHeader title="Access" />
        <EmptyState title="There are no clients yet">Create one first.</EmptyState>
      </>
    );
  // Changes for one client must not be saved for another one.
  return <ClientAccess key={client.id} client={client} clients={clients} />;
};

type Client = { id: number; name: string };

const ClientAccess = ({ client, clients }: { client: Client; clients: readonly Client[] }) => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const cells = useCells();
  useUnsavedWork(cells.changes.length > 0);
  const matrix = useInfiniteQuery(accessQuery(client.id, filter.search));
  const loadAll = async (): Promise<AccessUser[]> => {
    let { data, hasNextPage, isError } = matrix;
    while (hasNextPage && !isError && usersIn(data).length < MAX_CELLS)
      ({ data, hasNextPage, isError } = await matrix.fetchNextPage({ cancelRefetch: false }));
    // The error is shown above the matrix.
    if (isError) return [];
    if (hasNextPage)
      notifications.show({
        message: `Set for the first ${MAX_CELLS.toLocaleString()} people. Search to find the others.`,
      });
    return usersIn(data);
  };
  const change = (changes: AccessFilter): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  const search = useDebouncedCallback(
    (text: string) => change({ search: text.trim() || undefined }),
    TYPING_MS,
  );

  const users = usersIn(matrix.data);
  const apps = matrix.data?.pages[0]?.apps ?? [];
  const groups = matrix.data?.pages[0]?.groups ?? [];
  const columns = useShownGroups(groups);
  return (
    <>
      <ScreenHeader
        title="Access"
        procedures={['access.matrix']}
        lead={`Who may open which app of ${client.name}. “Why?” beside a box, or the key ?, explains it.`}
      />
      <Group mb="md">
        {clients.length > 1 && (
          <Select
            aria-label="Client"
            flex="1 1 9rem"
            maw={320}
            allowDeselect={false}
            searchable
            data={clients.map(({ id, name }) => ({ value: String(id), label: name }))}
            value={String(client.id)}
            onChange={(id) => change({ client: Number(id) })}
          />
        )}
        <TextInput
          type="search"
          aria-label="Search people"
          placeholder="Name or email address"
          flex="1 1 9rem"
          maw={320}
          defaultValue={filter.search}
          onChange={({ currentTarget: { value } }) => search(value)}
        />
        <GroupMenu groups={groups} ids={columns.ids} onChoose={columns.choose} />
      </Group>
      <SaveBar clientId={client.id} cells={cells} />
      <ProblemAlert error={matrix.error} />
      {matrix.isPending && <Skeleton height={400} />}
      {matrix.isSuccess && users.length === 0 && (
        <EmptyState title="No one matches">Change the search, or invite someone.</EmptyState>
      )}
      {users.length > 0 && (
        <AccessMatrix
          users={users}
          apps={apps}
          groups={columns.shown}
          client={client.id}
          cells={cells}
          hasMore={matrix.hasNextPage && !matrix.isFetchingNextPage}
          onMore={() => void matrix.fetchNextPage()}
          onAll={loadAll}
        />
      )}
    </>
  );
};

const usersIn = (data: { pages: readonly { users: AccessUser[] }[] } | undefined): AccessUser[] =>
  data?.pages.flatMap((page) => page.users) ?? [];
