import { Select } from '@mantine/core';
import { getRouteApi, useRouterState } from '@tanstack/react-router';
import { EmptyState } from '../components/empty-state.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { useOneClient } from '../layout/client-choice.ts';
import { MailNotice } from '../mails/mail-notice.tsx';
import { InviteForm } from './invite-form.tsx';
import type { InviteRow } from './invite-rows.ts';
import { SentInvitations } from './sent-invitations.tsx';

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
          lead="Each person gets a mail with a link to create their account."
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
        <MailNotice />
        <InviteForm
          key={clientId}
          client={clientId}
          kept={kept}
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
