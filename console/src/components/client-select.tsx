import { useSuspenseQueries, useSuspenseQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { trpc } from '../api.ts';
import { canView, mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

/** The clients that the user may see, by name. */
export const useClients = () => useSuspenseQuery(LIST).data;

const LIST = trpc.clients.list.queryOptions({});

/** The name of a client by its id; the id if the client is not visible. Users who may not list clients see no names. */
export const useClientName = (): ((id: number | null) => string) => {
  const { roles } = useSession();
  const lists = useSuspenseQueries({ queries: [LIST].filter(() => canView(roles)) });
  const clients = lists[0]?.data;
  return useMemo(() => {
    const names = new Map(clients?.map(({ id, name }) => [id, name]));
    return (id) => (id === null ? '' : (names.get(id) ?? `#${id}`));
  }, [clients]);
};

const INSTALLATION = 'installation';

/** The choices of a client that the user may configure; superusers can also choose the installation. */
export const useOwners = () => {
  const { roles } = useSession();
  const clients = useClients().filter(({ id }) => mayDo(roles, 'configure', id));
  return [
    ...(roles.is_superuser ? [{ value: INSTALLATION, label: 'The whole installation' }] : []),
    ...clients.map(({ id, name }) => ({ value: String(id), label: name })),
  ];
};

/** The id of the chosen client; null for the installation. */
export const ownerOf = (value: string): number | null => (value === INSTALLATION ? null : Number(value));
