import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { useClients } from '../components/client-select.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip } from '../components/filter-chip.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { canOperate } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { type AppsFilter, USES } from './apps-filter.ts';
import { appColumns } from './apps-table.tsx';
import { NewApp } from './new-app.tsx';
import { useDailyUsage } from './use-daily-usage.ts';

const PAGE_SIZE = 100;
const MAINTENANCE = [
  { value: 'true', label: 'On' },
  { value: 'false', label: 'Off' },
];
const route = getRouteApi('/apps');

/** The apps that the user may see, oldest first. */
export const AppsScreen = () => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const clients = useClients();
  const change = (changes: Partial<AppsFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  const apps = useInfiniteQuery(
    trpc.apps.list.infiniteQueryOptions(
      { ...filter, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        placeholderData: keepPreviousData,
      },
    ),
  );
  const daily = useDailyUsage(filter, apps.data?.pages ?? [], PAGE_SIZE);
  return (
    <>
      <ScreenHeader
        title="Apps"
        lead="Texts, maintenance, versions and usage of each app."
        actions={canOperate(useSession().roles) && <NewApp client={filter.client} />}
      />
      <FilterBar
        search={{
          label: 'Search apps',
          value: filter.search,
          onChange: (search) => change({ search }),
        }}
      >
        <FilterChip
          label="Maintenance"
          choices={MAINTENANCE}
          value={filter.in_maintenance === undefined ? undefined : String(filter.in_maintenance)}
          onChange={(value) => change({ in_maintenance: value === undefined ? undefined : value === 'true' })}
        />
        <FilterChip
          label="Used"
          choices={USES}
          value={
            USES.find((use) => use.is_unused === filter.is_unused && use.never_used === filter.never_used)
              ?.value
          }
          onChange={(value) => {
            const { is_unused, never_used } = USES.find((use) => use.value === value) ?? {};
            change({ is_unused, never_used });
          }}
        />
      </FilterBar>
      <PagedTable
        label="Apps"
        columns={appColumns(clients, daily)}
        pages={apps}
        keyOf={({ id }) => id}
        empty={
          Object.values(filter).every((value) => value === undefined) ? (
            <EmptyState title="There are no apps">Staff load an app from a package.</EmptyState>
          ) : (
            <EmptyState title="No app matches">Change the search or the filter.</EmptyState>
          )
        }
      />
    </>
  );
};
