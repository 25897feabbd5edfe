import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { AddressNotice } from '../app/address-notice.tsx';
import type { App } from '../apps/app-of.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { NewViewDialog } from './new-view-dialog.tsx';
import { viewColumns } from './view-columns.tsx';
import { ViewDialog } from './view-dialog.tsx';
import type { AccessView } from './view-state.ts';

const PAGE_SIZE = 50;

/** The id, because a use may change the key. */
const nextCursor = (page: AccessView[]): string | undefined =>
  page.length < PAGE_SIZE ? undefined : String(page.at(-1)?.id);

/** The links that open an app without a login. Staff see which exist, but not the links themselves. */
export const AccessViewsTab = ({ app }: { app: App }) => {
  const { data: may } = useSuspenseQuery(trpc.apps.permissions.queryOptions({ app_id: app.id }));
  const queryClient = useQueryClient();
  const [isCreating, creating] = useDisclosure();
  const [shownId, show] = useState<number | null>(null);
  const views = useInfiniteQuery(
    trpc.accessViews.screen.infiniteQueryOptions(
      { app: app.slug, limit: PAGE_SIZE },
      { getNextPageParam: (page) => nextCursor(page) },
    ),
  );
  const shown = views.data?.pages.flat().find(({ id }) => id === shownId);
  return (
    <>
      {may.can_update && (
        <Group justify="flex-end" mb="sm">
          <Button onClick={creating.open}>New share link</Button>
        </Group>
      )}
      <AddressNotice id={app.id} />
      <PagedTable
        label="Share links"
        columns={viewColumns((viewId) => {
          show(viewId);
          // The uses and their number may have changed since they were loaded.
          void queryClient.invalidateQueries(trpc.accessViews.pathFilter());
        })}
        pages={views}
        keyOf={({ id: viewId }) => String(viewId)}
        empty={
          <EmptyState title="No share links">
            {may.can_update
              ? 'Create one to show the app to someone without a login, or inside another page.'
              : 'Client admins of the app create them.'}
          </EmptyState>
        }
      />
      <NewViewDialog
        app={app}
        isOpen={isCreating}
        onClose={creating.close}
        onCreated={(viewId) => {
          creating.close();
          show(viewId);
        }}
      />
      {shown && <ViewDialog view={shown} onClose={() => show(null)} />}
    </>
  );
};
