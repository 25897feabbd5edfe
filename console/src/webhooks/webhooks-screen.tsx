import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useClients } from '../components/client-select.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { useSession } from '../session/use-session.ts';
import { SecretDialog } from './secret-dialog.tsx';
import { type CreatedWebhook, WebhookDialog } from './webhook-dialog.tsx';
import { useWebhooks, WebhookList } from './webhook-list.tsx';

const route = getRouteApi('/webhooks');

/** The webhooks of all clients that the user administers; for superusers, also the webhooks of the installation. */
export const WebhooksScreen = () => {
  const { client } = route.useSearch();
  const webhooks = useWebhooks(client);
  const { is_superuser: isSuperuser } = useSession().roles;
  const hasSeveralClients = useClients().length > 1;
  const [isCreating, { open, close }] = useDisclosure();
  const [created, setCreated] = useState<CreatedWebhook>();
  return (
    <>
      <ScreenHeader
        title="Webhooks"
        lead="URLs that get events as they happen."
        actions={<Button onClick={open}>New webhook</Button>}
      />
      <FilterBar>{null}</FilterBar>
      <WebhookList
        webhooks={webhooks}
        hasClients={client === undefined && (isSuperuser || hasSeveralClients)}
        onCreate={open}
      />
      <WebhookDialog client={client} isOpen={isCreating} onClose={close} onCreated={setCreated} />
      <SecretDialog secret={created?.secret} onClose={() => setCreated(undefined)} />
    </>
  );
};
