import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { useClients } from '../components/client-select.tsx';

/** Any window: only the client is read. */
const WINDOW = 30;
/** Limit of apps whose labels or slugs have the same words. */
const MAX_FOUND = 100;

/** The client of an app, which only its usage contains; undefined until it is known. */
export const useClientOfApp = ({ id, slug }: { id: string; slug: string }) => {
  const clients = useClients();
  const found = useQuery(
    trpc.usage.dailyByApp.queryOptions({ search: slug, window: WINDOW, limit: MAX_FOUND }),
  ).data?.find((app) => app.id === id);
  return clients.find((client) => client.id === found?.client);
};
