import { keepPreviousData } from '@tanstack/react-query';
import { type Outputs, queryClient, sessionQuery, trpc } from '../api.ts';
import { mayDo, type Roles } from '../session/roles.ts';

/** The client and the people of the matrix, from the address. */
export type AccessFilter = { client?: number | undefined; search?: string | undefined };

export const accessFilter = ({ client, search }: Record<string, unknown>): AccessFilter => ({
  client: typeof client === 'number' ? client : undefined,
  search: typeof search === 'string' || typeof search === 'number' ? String(search) : undefined,
});

const PAGE_SIZE = 100;

/** The people of a client, page by page, with its apps and groups. */
export const accessQuery = (client: number, search: string | undefined) =>
  trpc.access.grid.infiniteQueryOptions(
    { id: client, search, sort: 'name', limit: PAGE_SIZE },
    {
      getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
      placeholderData: keepPreviousData,
    },
  );

type Client = Outputs['clients']['list'][number];

/** Among the clients whose matrix the user may change: the one in the address, or the only one. */
const clientToShow = (all: readonly Client[], roles: Roles, filter: AccessFilter) => {
  const clients = all.filter(({ id }) => mayDo(roles, 'manage-grants', id));
  return clients.find(({ id }) => id === filter.client) ?? (clients.length === 1 ? clients[0] : undefined);
};

/** How long a screen waits for its rows before it shows placeholders. */
const WAIT_MS = 150;

/**
 * Requests the first page while the screen is loaded. If it arrives soon, the screen appears in one step, which halves the work of the
 * browser.
 */
export const prefetchAccess = async (filter: AccessFilter): Promise<void> => {
  const session = queryClient.getQueryData(sessionQuery.queryKey);
  if (!session || !mayDo(session.roles, 'manage-grants')) return;
  await queryClient.prefetchQuery({ ...trpc.clients.list.queryOptions({}), retry: false });
  const all = queryClient.getQueryData(trpc.clients.list.queryKey({})) ?? [];
  const client = clientToShow(all, session.roles, filter);
  if (!client) return;
  const rows = queryClient.prefetchInfiniteQuery(accessQuery(client.id, filter.search));
  await Promise.race([rows, new Promise((resolve) => setTimeout(resolve, WAIT_MS))]);
};
