import { Button, Group, Skeleton, Text } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { canAdminister } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { BulkBar } from './bulk-bar.tsx';
import { ColumnMenu, useColumns } from './column-menu.tsx';
import { CsvLink } from './csv-link.tsx';
import { InvitedNotice } from './invited-notice.tsx';
import { conditionsOf, type PeopleFilter } from './people-filter.ts';
import { PeopleFilters } from './people-filters.tsx';
import { peopleQuery } from './people-query.ts';
import { PeopleTable } from './people-table.tsx';
import { useSelection } from './use-selection.ts';

const route = getRouteApi('/people');

/** All people whom the user may see. The filter is part of the address. */
export const PeopleScreen = () => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const columns = useColumns();
  const selection = useSelection();
  const isAdmin = canAdminister(useSession().roles);
  const change = (changes: Partial<PeopleFilter>): void => {
    if (!('sort' in changes)) selection.clear();
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  const conditions = conditionsOf(filter);
  const people = useInfiniteQuery(peopleQuery(filter));
  // After the rows: counting the matches of a short word takes longer than finding the first ones.
  const hasRows = people.isSuccess && !people.isPlaceholderData;
  const total = useQuery(
    trpc.users.count.queryOptions(conditions, {
      enabled: hasRows,
      placeholderData: keepPreviousData,
      trpc: { abortOnUnmount: true },
    }),
  ).data;
  const rows = people.data?.pages.flat() ?? [];
  return (
    <>
      <ScreenHeader
        title="People"
        procedures={['users.people']}
        lead={<Count total={total?.count} />}
        actions={
          <>
            <ColumnMenu {...columns} />
            <CsvLink filter={filter} shown={columns.shown} />
            {isAdmin && (
              <Button renderRoot={(props) => <Link {...props} to="/invite" />}>Invite people</Button>
            )}
          </>
        }
      />
      <Group mb="md" gap="sm">
        <PeopleFilters filter={filter} onChange={change} />
      </Group>
      {isAdmin && <BulkBar selection={selection} filter={conditions} total={total?.count ?? 0} />}
      <ProblemAlert error={people.error} />
      {people.isPending && <Skeleton height={400} />}
      {people.isSuccess && rows.length === 0 && (
        <>
          <EmptyState title="No one matches">Change the filter, or invite someone.</EmptyState>
          {filter.search !== undefined && <InvitedNotice search={filter.search} />}
        </>
      )}
      {rows.length > 0 && (
        <PeopleTable
          people={rows}
          shown={columns.shown}
          selection={isAdmin ? selection : null}
          isComplete={people.data !== undefined && !people.hasNextPage}
          sort={filter.sort}
          onSort={(sort) => change({ sort })}
          hasMore={people.hasNextPage && !people.isFetchingNextPage}
          onMore={() => void people.fetchNextPage()}
        />
      )}
    </>
  );
};

const Count = ({ total }: { total: number | undefined }) => (
  <Text component="span" aria-live="polite">
    {total === undefined ? (
      <Skeleton component="span" display="inline-block" width={80} height={16} />
    ) : (
      `${total.toLocaleString()} ${total === 1 ? 'person' : 'people'}`
    )}
  </Text>
);
