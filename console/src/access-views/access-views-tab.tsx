import { Anchor, Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import { capitalized } from '../components/capitalized.ts';
import type { Column } from '../components/column.ts';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { StatusText } from '../components/status-text.tsx';
import { notify } from '../components/toasts.ts';
import { audienceOf, isManaged, type ShareLink, stateOf, titleOf, usesOf } from './share-link.ts';
import { copyText, LinkDialog, NewLinkDialog, useLinksRefresh } from './share-link-dialogs.tsx';

const PAGE_SIZE = 50;

/** The id, because a use may change the key. */
const nextCursor = (page: ShareLink[]): string | undefined =>
  page.length < PAGE_SIZE ? undefined : String(page.at(-1)?.id);

type Shown = { id: number; isNew: boolean; isCopied: boolean };

/** The links that open an app without a login. Staff see which exist, but not the links themselves. */
export const AccessViewsTab = ({ app }: { app: App }) => {
  const { data: may } = useSuspenseQuery(trpc.apps.permissions.queryOptions({ app_id: app.id }));
  const refresh = useLinksRefresh();
  const [isCreating, creating] = useDisclosure();
  const [shown, show] = useState<Shown | null>(null);
  const links = useInfiniteQuery(
    trpc.accessViews.screen.infiniteQueryOptions(
      { app: app.slug, limit: PAGE_SIZE },
      { getNextPageParam: (page) => nextCursor(page) },
    ),
  );
  const link = links.data?.pages.flat().find(({ id }) => id === shown?.id);
  return (
    <>
      {may.can_update && (
        <Group justify="flex-end" mb="sm">
          <Button onClick={creating.open}>New share link</Button>
        </Group>
      )}
      <PagedTable
        label="Share links"
        columns={columnsOf((id) => {
          show({ id, isNew: false, isCopied: false });
          // The uses and their number may have changed since they were loaded.
          void refresh();
        })}
        pages={links}
        keyOf={({ id }) => String(id)}
        empty={
          <EmptyState title="No share links">
            {may.can_update
              ? 'Create one to show the app to someone without a login, or inside another page.'
              : 'Client admins of the app create them.'}
          </EmptyState>
        }
      />
      <NewLinkDialog
        app={app}
        isOpen={isCreating}
        onClose={creating.close}
        onCreated={(id, isCopied) => {
          creating.close();
          show({ id, isNew: true, isCopied });
        }}
      />
      {shown && link && <LinkDialog app={app} link={link} {...shown} onClose={() => show(null)} />}
    </>
  );
};

const columnsOf = (onShow: (id: number) => void): Column<ShareLink>[] => [
  {
    heading: 'Label',
    width: 'minmax(9rem, 2fr)',
    cell: (link) => (
      <Anchor
        component="button"
        type="button"
        className="action-link"
        fz="inherit"
        ta="start"
        truncate
        maw="100%"
        title={titleOf(link)}
        onClick={() => onShow(link.id)}
      >
        {titleOf(link)}
      </Anchor>
    ),
  },
  {
    heading: 'For',
    width: 'minmax(8rem, 1.5fr)',
    cell: (link) => <span title={link.user ?? undefined}>{audienceOf(link)}</span>,
  },
  { heading: 'State', width: '8.5rem', onPhone: 'half', cell: (link) => <LinkState link={link} /> },
  { heading: 'Uses', width: '6rem', onPhone: 'half', cell: usesOf },
  {
    heading: 'Works until',
    width: '9.5rem',
    cell: ({ expires_at: date }) => <DateText date={date} none="No end" />,
  },
  {
    heading: 'Last use',
    width: '9.5rem',
    cell: ({ last_used: date }) => <DateText date={date} none="Never" />,
  },
  {
    id: 'copy',
    heading: <span className="visually-hidden">Copy</span>,
    width: '6.5rem',
    onPhone: 'corner',
    cell: (link) => isManaged(link) && stateOf(link) === 'active' && <CopyLink link={link} />,
  },
];

const LinkState = ({ link }: { link: ShareLink }) => {
  const state = stateOf(link);
  return <StatusText label={capitalized(state)} color={state === 'active' ? 'green' : 'gray'} />;
};

const CopyLink = ({ link }: { link: ShareLink }) => (
  <Button
    variant="default"
    size="compact-sm"
    aria-label={`Copy link: ${titleOf(link)}`}
    onClick={async () =>
      notify((await copyText(link.url)) ? 'Link copied.' : 'The browser refused. Open the link to copy it.')
    }
  >
    Copy link
  </Button>
);
