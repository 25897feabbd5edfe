import { useSessionStorage } from '@mantine/hooks';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { canView, mayDo } from './roles.ts';
import { screenAt } from './screens.ts';
import { useSession } from './use-session.ts';

type Client = { id: number; name: string };

/** The stored choice of the user, until the tab is closed; null: all clients. */
const useStoredClient = () =>
  useSessionStorage<number | null>({ key: 'client', defaultValue: null, getInitialValueInEffect: false });

/**
 * The client whose data lists and Home show. Lists have it in their address, and carry it over to the next one. A list that was opened by
 * a link shows the client in the link. A screen for one client without one in its address shows the client that was chosen before, or the
 * only one.
 */
export const useClientChoice = () => {
  const { roles } = useSession();
  const enabled = canView(roles);
  const query = useQuery(trpc.clients.list.queryOptions({}, { enabled }));
  const all: readonly Client[] = query.data ?? [];
  const navigate = useNavigate();
  const [stored, store] = useStoredClient();
  const { route, named } = useRouterState({
    structuralSharing: true,
    select: ({ matches }) => {
      const match = matches.at(-1);
      const search: { client?: unknown } = match?.search ?? {};
      return { route: match?.routeId, named: typeof search.client === 'number' ? search.client : undefined };
    },
  });
  const screen = route === undefined || route === '__root__' ? undefined : screenAt(route);
  const { within } = screen ?? {};
  const clients = within === undefined ? all : all.filter(({ id }) => mayDo(roles, within, id));
  const isOne = screen?.clients === 'one';
  // It may have been chosen by another user.
  const remembered = all.find(({ id }) => id === stored)?.id;
  const find = (wanted: number | undefined) => clients.find(({ id }) => id === wanted);
  const only = clients.length === 1 ? clients[0] : undefined;
  return {
    clients,
    client: isOne
      ? (find(named) ?? find(remembered) ?? only)
      : find(screen?.clients === undefined ? remembered : named),
    /** Whether the screen shows several clients together. */
    hasAll: !isOne,
    remembered,
    /** Whether `remembered` is final: a stored choice is checked against the list of clients. */
    isKnown: stored === null || !query.isPending,
    choose: (id: number | undefined): void => {
      store(id ?? null);
      if (screen?.clients === undefined) return;
      // Apps and groups belong to one client, so they are dropped from the address.
      const search = (previous: object) => ({
        ...previous,
        client: id,
        app: undefined,
        stack: undefined,
        group: undefined,
      });
      void navigate({ to: '.', search, replace: true });
    },
  };
};

/** The choice on a screen for one client, which waits for the list of clients. */
export const useOneClient = () => {
  useSuspenseQuery(trpc.clients.list.queryOptions({}));
  return useClientChoice();
};
