import { Select } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useClients } from '../components/client-select.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { administers } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { MailNotice } from '../mails/mail-notice.tsx';
import { Delivery, type SentInvitations } from './delivery.tsx';
import { InviteForm } from './invite-form.tsx';

const route = getRouteApi('/invite');

/** Invites people: first the list, then what became of each invitation. */
export const InviteScreen = () => {
  const { roles } = useSession();
  const clients = useClients().filter(({ id }) => administers(roles, id));
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const clientId = (clients.find(({ id }) => id === search.client) ?? clients[0])?.id;
  const [sent, setSent] = useState<SentInvitations | null>(null);
  if (clientId === undefined)
    return (
      <>
        <ScreenHeader title="Invite people" />
        <EmptyState title="There are no clients yet">
          Invitations belong to a client. Create one first.
        </EmptyState>
      </>
    );
  if (sent) return <Delivery sent={sent} client={clientId} onMore={() => setSent(null)} />;
  return (
    <>
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
              onChange={(id) => void navigate({ search: { client: Number(id) }, replace: true })}
            />
          )
        }
      />
      <MailNotice />
      <InviteForm key={clientId} client={clientId} onSent={setSent} />
    </>
  );
};
