import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery, useQueryClient, useSuspenseQueries } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { AddressNotice } from '../app/address-notice.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { NewViewDialog } from './new-view-dialog.tsx';
import { viewColumns } from './view-columns.tsx';
import { ViewDialog } from './view-dialog.tsx';
import type { AccessView } from './view-state.ts';

const PAGE_SIZE = 50;
const route = getRouteApi('/apps/$id/views');

/** The id, because a use may change the key. */
const nextCursor = (page: AccessView[]): string | undefined =>
  page.length < PAGE_SIZE ? undefined : String(page.at(-1)?.id);

/** The links that open an app without a login. Staff see which exist, but not the links themselves. */
export const AccessViewsScreen = () => {
  const { id } = route.useParams();
  const [{ data: app }, { data: may }] = useSuspenseQueries({
    queries: [trpc.apps.get.queryOptions({ app_id: id }), trpc.apps.permissions.queryOptions({ app_id: id })],
  });
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
      <ScreenHeader
        title={`Share links of ${app.label}`}
        lead={
          <>
            Links that open the app without a login.{' '}
            <Link className="text-link" to="/apps/$id" params={{ id }}>
              Back to the app
            </Link>
          </>
        }
        actions={may.can_update && <Button onClick={creating.open}>New share link</Button>}
      />
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
