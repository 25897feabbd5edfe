import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { NewViewDialog } from './new-view-dialog.tsx';
import { viewColumns } from './view-columns.tsx';
import { ViewDialog } from './view-dialog.tsx';

const PAGE_SIZE = 50;
const route = getRouteApi('/apps/$id/views');

/** The links that open an app without a login. */
export const AccessViewsScreen = () => {
  const { id } = route.useParams();
  const app = useSuspenseQuery(trpc.apps.get.queryOptions({ app_id: id })).data;
  const [isCreating, creating] = useDisclosure();
  const [shownKey, showKey] = useState<string | null>(null);
  const views = useInfiniteQuery(
    trpc.accessViews.list.infiniteQueryOptions(
      { app: app.slug, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.key) },
    ),
  );
  const shown = views.data?.pages.flat().find(({ key }) => key === shownKey);
  return (
    <>
      <ScreenHeader
        title={`Access views of ${app.label}`}
        lead={
          <>
            Links that open the app without a login.{' '}
            <Link className="text-link" to="/apps/$id" params={{ id }}>
              Back to the app
            </Link>
          </>
        }
        procedures={['accessViews.list']}
        actions={<Button onClick={creating.open}>New access view</Button>}
      />
      <PagedTable
        label="Access views"
        columns={viewColumns(showKey)}
        pages={views}
        keyOf={({ created, key }) => `${created.getTime()} ${key}`}
        empty={
          <EmptyState title="No access views">
            Create one to show the app to someone without a login, or inside another page.
          </EmptyState>
        }
      />
      <NewViewDialog
        app={app}
        isOpen={isCreating}
        onClose={creating.close}
        onCreated={(key) => {
          creating.close();
          showKey(key);
        }}
      />
      {shown && <ViewDialog view={shown} onClose={() => showKey(null)} />}
    </>
  );
};
