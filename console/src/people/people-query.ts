import { keepPreviousData } from '@tanstack/react-query';
import { queryClient, sessionQuery, trpc } from '../api.ts';
import { canView } from '../session/roles.ts';
import { conditionsOf, type PeopleFilter } from './people-filter.ts';

const PAGE_SIZE = 100;

/** The matching people, page by page. */
export const peopleQuery = (filter: PeopleFilter) =>
  trpc.users.people.infiniteQueryOptions(
    { ...conditionsOf(filter), sort: filter.sort, limit: PAGE_SIZE },
    {
      getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.email),
      placeholderData: keepPreviousData,
      trpc: { abortOnUnmount: true },
    },
  );

/** Requests the first page before the screen renders its new filter: rendering takes longer than the service. */
export const prefetchPeople = (filter: PeopleFilter): void => {
  const session = queryClient.getQueryData(sessionQuery.queryKey);
  if (session && canView(session.roles)) void queryClient.prefetchInfiniteQuery(peopleQuery(filter));
};
