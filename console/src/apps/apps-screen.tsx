import { Skeleton } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { AppsTable } from './apps-table.tsx';

const PAGE_SIZE = 100;

/** All apps that the user may see, oldest first. */
export const AppsScreen = () => {
  const apps = useInfiniteQuery(
    trpc.apps.list.infiniteQueryOptions(
      { limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const rows = apps.data?.pages.flat() ?? [];
  return (
    <>
      <ScreenHeader
        title="Apps"
        lead="Texts, maintenance, versions and usage of each app."
        procedures={['apps.list']}
      />
      <ProblemAlert error={apps.error} />
      {apps.isPending && <Skeleton height={400} />}
      {apps.isSuccess && rows.length === 0 && (
        <EmptyState title="There are no apps">Staff load an app from a package.</EmptyState>
      )}
      {rows.length > 0 && (
        <AppsTable
          apps={rows}
          hasMore={apps.hasNextPage && !apps.isFetchingNextPage}
          onMore={() => void apps.fetchNextPage()}
        />
      )}
    </>
  );
};
