import { useSuspenseQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';

/** The clients that the user may see, by name. */
export const useClients = () => useSuspenseQuery(trpc.clients.list.queryOptions({})).data;

/** The name of a client by its id; the id of one that is not visible. */
export const useClientName = (): ((id: number | null) => string) => {
  const names = new Map(useClients().map(({ id, name }) => [id, name]));
  return (id) => (id === null ? '' : (names.get(id) ?? `#${id}`));
};
