import { Button } from '@mantine/core';
import { IconUserPlus } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useCallback } from 'react';
import { trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RowCount } from '../components/row-count.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { ColumnMenu, useColumns } from './column-menu.tsx';
import { CsvItem } from './csv-item.tsx';
import { InvitedNotice } from './invited-notice.tsx';
import { NoPeopleYet } from './no-people-yet.tsx';
import { conditionsOf, type PeopleFilter } from './people-filter.ts';
import { PeopleFilters } from './people-filters.tsx';
import { peopleQuery } from './people-query.ts';
import { PeopleSkeleton, PeopleTable } from './people-table.tsx';
import { hasBulkActions, useBulkBar } from './use-bulk-bar.tsx';
import { useSelection } from './use-selection.ts';

const route = getRouteApi('/people');

/** All people whom the user may see. The filter is part of the address. */
export const PeopleScreen = () => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const columns = useColumns();
  const { sort, ...list } = filter;
  const selection = useSelection(JSON.stringify(list));
  const { roles } = useSession();
  const canSelect = hasBulkActions(roles);
  const change = useCallback(
    (changes: Partial<PeopleFilter>): void =>
      void navigate({ search: (previous) => ({ ...previous, ...changes }), replace: true }),
    [navigate],
  );
  const conditions = conditionsOf(filter);
  const people = useInfiniteQuery(peopleQuery(filter));
  // After the rows: for a short word, counting all matches takes longer than finding the first ones.
  const hasRows = people.isSuccess && !people.isPlaceholderData;
  const total = useQuery(
    trpc.users.count.queryOptions(conditions, {
      enabled: hasRows,
      placeholderData: keepPreviousData,
      trpc: { abortOnUnmount: true },
    }),
  ).data?.count;
  const rows = people.data?.pages.flat() ?? [];
  const { bar, panels } = useBulkBar({ selection, filter: conditions, total: total ?? 0 });
  return (
    <>
      <ScreenHeader
        title="People"
        count={<RowCount total={total} one="person" many="people" />}
        actions={
          <>
            <ColumnMenu {...columns} />
            {mayDo(roles, 'manage-people') && (
              <Button
                leftSection={<IconUserPlus size={16} stroke={1.6} aria-hidden />}
                renderRoot={(props) => <Link {...props} to="/invite" />}
              >
                Invite people
              </Button>
            )}
          </>
        }
        menu={<CsvItem filter={filter} shown={columns.shown} />}
      />
      <PeopleFilters filter={filter} onChange={change} />
      {panels}
      <ProblemAlert error={people.error} />
      {people.isPending && <PeopleSkeleton shown={columns.shown} />}
      {people.isSuccess && rows.length === 0 && (
        <>
          {isNarrowed(list) ? (
            <EmptyState title="No one matches">Change the filter, or invite someone.</EmptyState>
          ) : (
            <NoPeopleYet client={filter.client} />
          )}
          {filter.search !== undefined && <InvitedNotice search={filter.search} />}
        </>
      )}
      {rows.length > 0 && (
        <PeopleTable
          people={rows}
          shown={columns.shown}
          selection={canSelect ? selection : null}
          total={hasRows ? total : undefined}
          isComplete={hasRows && !people.hasNextPage}
          sort={sort}
          onSort={(chosen) => change({ sort: chosen })}
          hasMore={people.hasNextPage && !people.isFetchingNextPage}
          onMore={() => void people.fetchNextPage()}
        />
      )}
      {canSelect && bar}
    </>
  );
};

/** Whether the filter is about more than a client. */
const isNarrowed = ({ client: _client, ...conditions }: PeopleFilter): boolean =>
  Object.values(conditions).some((value) => value !== undefined);
