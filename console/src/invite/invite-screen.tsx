import { Alert, Button, Group, List, Select, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { type Outputs, trpc } from '../api.ts';
import type { Column } from '../components/column.ts';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ROW_MENU_COLUMN } from '../components/row-menu.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { Tags } from '../components/tags.tsx';
import { useCopyLinks } from '../invitations/copy-links.tsx';
import { useInvitationActions } from '../invitations/invitation-actions.tsx';
import { InvitationStatus } from '../invitations/invitation-status.tsx';
import { MailLink } from '../mails/mail-link.tsx';
import { MailHelp, MailHint, MailNotice } from '../mails/mail-notice.tsx';
import { reasonColumn, reasonOf } from '../mails/mail-reason.tsx';
import { STATUS_LABELS } from '../mails/mail-status.tsx';
import { isWaiting, MAIL_STATUSES } from '../mails/mails-filter.ts';
import { useOneClient } from '../session/client-choice.ts';
import { useSession } from '../session/use-session.ts';
import { InviteForm } from './invite-form.tsx';
import type { InviteRow } from './invite-rows.ts';
import { peopleOf } from './use-invite-list.ts';

const route = getRouteApi('/invite');

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The rows with errors, which were kept when the others were sent. They survive a reload. */
    keptRows?: InviteRow[];
  }
}

/** Invites people: first the list, then the outcome of each invitation, which has its own address. */
export const InviteScreen = () => {
  const { clients, client, choose } = useOneClient();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const clientId = client?.id;
  const kept = useRouterState({ select: ({ location }) => location.state.keptRows }) ?? [];
  const addresses = useRef<HTMLTextAreaElement>(null);
  if (clientId === undefined)
    return (
      <>
        <ScreenHeader title="Invite people" />
        <EmptyState title="There are no clients yet">
          Invitations belong to a client. Create one first.
        </EmptyState>
      </>
    );
  const { sent } = search;
  return (
    <>
      {sent !== undefined ? (
        <SentInvitations client={clientId} at={sent} kept={kept} />
      ) : (
        <ScreenHeader
          title="Invite people"
          field={addresses}
          lead={<Lead />}
          actions={
            clients.length > 1 && (
              <Select
                label="Client"
                allowDeselect={false}
                searchable
                data={clients.map(({ id, name }) => ({ value: String(id), label: name }))}
                value={String(clientId)}
                onChange={(id) => choose(Number(id))}
              />
            )
          }
        />
      )}
      {/* Stays mounted, because it keeps the rows that were not sent. */}
      <div hidden={sent !== undefined}>
        <InviteForm
          key={clientId}
          client={clientId}
          app={search.app}
          kept={kept}
          addresses={addresses}
          onSent={async (at, keptRows) => {
            // So that the Back button returns to this client and keeps the list.
            await navigate({ search: { client: clientId }, replace: true, ignoreBlocker: true });
            await navigate({ search: { client: clientId, sent: at }, state: { keptRows } });
          }}
        />
      </div>
    </>
  );
};

/** What the invited get. */
const Lead = () => {
  const { sends_mail, roles } = useSession();
  if (sends_mail) return 'Each person gets a mail with a link to create their account.';
  return (
    <>
      You get a link for each person, to copy and send: no mail server is set up.{' '}
      {roles.is_superuser && <MailHelp />}
    </>
  );
};

type Invitation = Extract<Outputs['invitations']['search'], readonly unknown[]>[number];

type Props = {
  client: number;
  /** When the list was sent, in ISO 8601. */
  at: string;
  /** The rows with errors, which were not sent. */
  kept: readonly InviteRow[];
};

const PAGE_SIZE = 200;
const REFRESH_MS = 3_000;

/** The outcome of the invitations of one list. Its address can be opened again, and by others. */
const SentInvitations = ({ client, at, kept }: Props) => {
  const sent = useSent(client, at);
  const { menuOf, panels } = useInvitationActions();
  const { copy, isPending, panel } = useCopyLinks();
  const invitations = sent.data?.pages.flat() ?? [];
  const pending = invitations.filter(({ status }) => status === 'pending').map(({ id }) => id);
  const apps = useQuery(trpc.clients.apps.queryOptions({ id: client })).data ?? [];
  const nameOfApp = (id: string): string => apps.find((app) => app.id === id)?.label ?? id;
  const hasReasons = invitations.some(({ mail }) => reasonOf(mail) !== '');
  return (
    <>
      <ScreenHeader
        title="Invitations created"
        lead={
          <>
            <span role="status">{sent.isSuccess ? countsOf(invitations) : 'Loading…'}</span> ·{' '}
            <DateText date={new Date(at)} /> ·{' '}
            <Link
              className="action-link"
              style={{ textDecoration: 'underline' }}
              to="/mails"
              search={{ client, created_at: at }}
            >
              Mails of this list
            </Link>
          </>
        }
        actions={
          <>
            {copy && pending.length > 0 && (
              <Button loading={isPending} onClick={() => copy(pending)}>
                {pending.length === 1 ? 'Copy the link' : 'Copy all links'}
              </Button>
            )}
            <Button
              variant={copy && pending.length > 0 ? 'default' : 'filled'}
              renderRoot={(props) => <Link {...props} to="/invite" search={{ client }} />}
            >
              {kept.length === 0 ? 'Invite more people' : `Back to the other ${kept.length}`}
            </Button>
          </>
        }
      />
      {panel}
      {panels}
      {kept.length > 0 ? <Kept rows={kept} /> : <MailNotice />}
      <PagedTable
        label="Invitations created"
        columns={columnsOf(hasReasons, menuOf, nameOfApp)}
        pages={sent}
        keyOf={({ id }) => id}
        empty={
          <EmptyState title="No invitations">
            None were sent then, or they have been removed since. Old ones are removed.
          </EmptyState>
        }
      />
    </>
  );
};

/** Failed mails come first, because someone must act on them. */
const failedFirst = <Data extends { pages: Invitation[][] }>(data: Data): Data => {
  const isFailed = ({ mail }: Invitation): number => Number(mail?.status === 'failed');
  return { ...data, pages: [data.pages.flat().toSorted((a, b) => isFailed(b) - isFailed(a))] };
};

/** Loads all pages, to count them. Reloads while a mail is waiting. */
const useSent = (client: number, at: string) => {
  const sent = useInfiniteQuery(
    trpc.invitations.search.infiniteQueryOptions(
      { client, status: 'all', invited_at: new Date(at), limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        refetchInterval: ({ state }) =>
          state.data?.pages.flat().some(({ mail }) => isWaiting(mail?.status)) ? REFRESH_MS : false,
        select: failedFirst,
      },
    ),
  );
  const { hasNextPage, isFetching, fetchNextPage } = sent;
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  return sent;
};

/** `36 sent, 2 queued` */
const countsOf = (invitations: readonly Invitation[]): string =>
  MAIL_STATUSES.map((status) => {
    const count = invitations.filter(({ mail }) => mail?.status === status).length;
    return count > 0 ? `${count} ${STATUS_LABELS[status].toLowerCase()}` : '';
  })
    .filter(Boolean)
    .join(', ') || peopleOf(invitations.length);

const columnsOf = (
  hasReasons: boolean,
  menuOf: ReturnType<typeof useInvitationActions>['menuOf'],
  nameOfApp: (id: string) => string,
): Column<Invitation>[] => [
  { heading: 'Email address', width: 'minmax(11rem, 2fr)', cell: ({ email }) => email },
  {
    heading: 'Name',
    width: '1fr',
    onPhone: 'plain',
    cell: ({ first_name: first, last_name: last }) => `${first} ${last}`.trim() || '–',
  },
  {
    heading: 'Apps',
    width: '1fr',
    onPhone: 'half',
    cell: ({ initial_apps: ids }) => (ids.length === 0 ? '–' : <Tags names={ids.map(nameOfApp)} shown={2} />),
  },
  { heading: 'Mail', width: '8rem', onPhone: 'half', cell: ({ mail }) => <MailLink mail={mail} /> },
  {
    heading: 'Invitation',
    width: '8rem',
    onPhone: 'half',
    cell: ({ status }) => <InvitationStatus status={status} />,
  },
  ...(hasReasons ? [reasonColumn<Invitation>(({ mail }) => mail)] : []),
  {
    ...ROW_MENU_COLUMN,
    cell: (invitation) =>
      invitation.status === 'pending' || invitation.status === 'expired' ? menuOf(invitation) : null,
  },
];

const MAX_KEPT = 5;

/** Who was not invited, and why. Includes the text of `MailNotice`, so that there is one message. */
const Kept = ({ rows }: { rows: readonly InviteRow[] }) => (
  <Alert
    color="orange"
    variant="light"
    mb="md"
    title={`${peopleOf(rows.length)} ${rows.length === 1 ? 'was' : 'were'} not sent`}
  >
    <List size="sm">
      {rows.slice(0, MAX_KEPT).map(({ key, email, errors }) => (
        <List.Item key={key}>
          <Group gap="xs">
            <Text span fz="inherit" fw={500}>
              {email.trim() || 'Without an address'}
            </Text>
            {Object.values(errors).join(' ')}
          </Group>
        </List.Item>
      ))}
    </List>
    {rows.length > MAX_KEPT && `And ${rows.length - MAX_KEPT} more.`}
    <Text size="sm" mt="xs">
      <MailHint />
    </Text>
  </Alert>
);
