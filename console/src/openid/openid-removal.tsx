import { Button, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { App } from '../apps/app-of.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useOpenidRemoval } from './use-openid.ts';

/** Removes the OpenID settings of an app, after a question. */
export const OpenidRemoval = ({ app }: { app: App }) => {
  const [isAsking, { open, close }] = useDisclosure();
  const { remove, isPending, error, prompt } = useOpenidRemoval(app.id);
  return (
    <Stack className="card" align="flex-start" component="section" aria-labelledby="openid-removal">
      <Title order={2} size="h3" id="openid-removal">
        Remove OpenID Connect
      </Title>
      <ProblemAlert error={error} />
      <Button color="red" variant="light" loading={isPending} onClick={open}>
        Remove…
      </Button>
      {prompt}
      <ConfirmModal
        isOpen={isAsking}
        title="Remove OpenID Connect?"
        action="Remove"
        isDanger
        onConfirm={remove}
        onClose={close}
      >
        <Text>
          All logins to {app.label} end. Each is sent to its back-channel logout address, if it has one. Its
          secret is deleted. People cannot log in to it with Steward until it is set up again.
        </Text>
      </ConfirmModal>
    </Stack>
  );
};
