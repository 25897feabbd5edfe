import { Anchor, Group, Skeleton } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import type { PeopleFilter } from './people-filter.ts';
import { PeopleFilters } from './people-filters.tsx';
import { PeopleTable } from './people-table.tsx';

const PAGE_SIZE = 100;
const route = getRouteApi('/people');

/** All people whom the user may see. The filter is part of the address. */
export const PeopleScreen = () => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: Partial<PeopleFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  const people = useInfiniteQuery(
    trpc.users.list.infiniteQueryOptions(
      { ...filter, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.email),
        placeholderData: keepPreviousData,
      },
    ),
  );
  const rows = people.data?.pages.flat() ?? [];
  return (
    <>
      <ScreenHeader title="People" actions={<CsvLink filter={filter} />} />
      <Group mb="md">
        <PeopleFilters filter={filter} onChange={change} />
      </Group>
      <ProblemAlert error={people.error} />
      {people.isPending && <Skeleton height={400} />}
      {people.isSuccess && rows.length === 0 && (
        <EmptyState title="No one matches">Change the filter, or invite someone.</EmptyState>
      )}
      {rows.length > 0 && (
        <PeopleTable
          people={rows}
          hasMore={people.hasNextPage && !people.isFetchingNextPage}
          onMore={() => void people.fetchNextPage()}
        />
      )}
    </>
  );
};

/** All matching people, not only those that were loaded. */
const CsvLink = ({ filter }: { filter: PeopleFilter }) => {
  const given = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const query = new URLSearchParams([...given, ['format', 'csv']]);
  return (
    <Anchor href={`/api/v1/jb/users/?${query}`} download="people.csv">
      Download CSV
    </Anchor>
  );
};
