import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { canView } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

/** Limit per kind. */
const MAX_FOUND = 7;

/** People, pending invitations, apps and clients that match a search and that the user may list. */
export const useFound = (search: string) => {
  const enabled = canView(useSession().roles) && search !== '';
  const limited = { enabled, placeholderData: keepPreviousData };
  const people = useQuery(trpc.users.list.queryOptions({ search, sort: 'email', limit: MAX_FOUND }, limited));
  const invitations = useQuery(trpc.invitations.search.queryOptions({ search, limit: MAX_FOUND }, limited));
  // Short lists, which other screens have often loaded already.
  const apps = useQuery(trpc.apps.list.queryOptions({}, { enabled })).data ?? [];
  const clients = useQuery(trpc.clients.list.queryOptions({}, { enabled })).data ?? [];
  const matches = (text: string): boolean => text.toLowerCase().includes(search.toLowerCase());
  const isSearching = [people, invitations].some((query) => query.isPlaceholderData || query.isLoading);
  if (!enabled) return { people: [], invitations: [], apps: [], clients: [], isSearching: false };
  return {
    people: people.data ?? [],
    invitations: invitations.data ?? [],
    apps: apps.filter(({ label, slug }) => matches(`${label} ${slug}`)).slice(0, MAX_FOUND),
    clients: clients.filter(({ name }) => matches(name)).slice(0, MAX_FOUND),
    isSearching,
  };
};
