import { Button, Group, Stack } from '@mantine/core';
import { useState } from 'react';
import { SecretDialog } from './secret-dialog.tsx';
import { type CreatedWebhook, WebhookDialog } from './webhook-dialog.tsx';
import { useWebhooks, WebhookList } from './webhook-list.tsx';

/** The webhooks of a client, for its admins. */
export const WebhooksTab = ({ client }: { client: number }) => {
  const webhooks = useWebhooks(client);
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedWebhook>();
  const hasSome = webhooks.data?.pages.some((page) => page.length > 0) ?? false;
  return (
    <Stack>
      {hasSome && (
        <Group justify="flex-end">
          <Button onClick={() => setCreating(true)}>New webhook</Button>
        </Group>
      )}
      <WebhookList webhooks={webhooks} hasClients={false} onCreate={() => setCreating(true)} />
      <WebhookDialog
        client={client}
        isOpen={isCreating}
        onClose={() => setCreating(false)}
        onCreated={setCreated}
      />
      <SecretDialog secret={created?.secret} onClose={() => setCreated(undefined)} />
    </Stack>
  );
};
