import { useSessionStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { canView, mayDo, type Roles } from './roles.ts';
import { screenAt } from './screens.ts';
import { useSession } from './use-session.ts';

type Client = { id: number; name: string };

/** The client that the user has chosen for lists, stored until the tab is closed; undefined: all clients. */
const useRememberedClient = (clients: readonly Client[]) => {
  const [stored, setStored] = useSessionStorage<number | null>({
    key: 'client',
    defaultValue: null,
    getInitialValueInEffect: false,
  });
  // It may have been chosen by another user.
  const client = clients.find(({ id }) => id === stored)?.id;
  return [client, (id: number | undefined) => setStored(id ?? null)] as const;
};

/** The clients to choose from on a screen that shows one at a time. Access shows only clients that the user administers. */
const clientsOf = (to: string | undefined, clients: readonly Client[], roles: Roles) =>
  to === '/access' ? clients.filter(({ id }) => mayDo(roles, 'manage-grants', id)) : clients;

/**
 * The client whose data lists show. It is in their address, and is carried over to the next list. A list that was opened by a link shows
 * the client in the link.
 */
export const useClientChoice = () => {
  const { roles } = useSession();
  const enabled = canView(roles);
  const all = useQuery(trpc.clients.list.queryOptions({}, { enabled })).data ?? [];
  const navigate = useNavigate();
  const [remembered, remember] = useRememberedClient(all);
  const { route, named } = useRouterState({
    structuralSharing: true,
    select: ({ matches }) => {
      const match = matches.at(-1);
      const search: { client?: unknown } = match?.search ?? {};
      return { route: match?.routeId, named: typeof search.client === 'number' ? search.client : undefined };
    },
  });
  const screen = route === undefined || route === '__root__' ? undefined : screenAt(route);
  const isOne = screen?.clients === 'one';
  const clients = clientsOf(route, all, roles);
  const shown = screen?.clients === undefined ? remembered : named;
  const client = clients.find(({ id }) => id === shown) ?? (isOne ? clients[0] : undefined);
  return {
    clients,
    client,
    /** Whether the screen shows several clients together. */
    hasAll: !isOne,
    remembered,
    choose: (id: number | undefined): void => {
      remember(id);
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
