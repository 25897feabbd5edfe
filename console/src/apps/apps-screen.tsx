import { Checkbox, Group } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { ClientSelect, useClients } from '../components/client-select.tsx';
import { DebouncedInput } from '../components/debounced-input.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import type { AppsFilter } from './apps-filter.ts';
import { appColumns } from './apps-table.tsx';
import { useDailyUsage } from './use-daily-usage.ts';

const PAGE_SIZE = 100;
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
        procedures={['apps.list', 'usage.dailyByApp']}
      />
      <Group mb="md">
        <DebouncedInput label="Search apps" value={filter.search} onChange={(search) => change({ search })} />
        <ClientSelect value={filter.client} onChange={(client) => change({ client })} />
        <Checkbox
          label="In maintenance"
          checked={filter.in_maintenance === true}
          onChange={({ currentTarget }) => change({ in_maintenance: currentTarget.checked || undefined })}
        />
      </Group>
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
