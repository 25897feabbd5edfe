import { Anchor, Button, Group, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ChangeAddress } from './change-address.tsx';
import { ErasurePanel } from './erasure-panel.tsx';

type Props = { email: string; isSuperuser: boolean; mayChangeAddress: boolean };

/** Ends logins; for superusers also the export and the erasure of the person's data. */
export const PersonAccess = ({ email, isSuperuser, mayChangeAddress }: Props) => {
  const [isAsking, { open, close }] = useDisclosure();
  const queryClient = useQueryClient();
  const revoke = useMutation(
    trpc.sessions.revokeAll.mutationOptions({
      onSuccess: () => {
        for (const router of [trpc.sessions.listByUser, trpc.tokens.listByUser, trpc.audit])
          void queryClient.invalidateQueries(router.pathFilter());
        notifications.show({ message: `${email} is logged out everywhere.` });
      },
    }),
  );
  return (
    <Stack className="card" align="flex-start">
      <Title order={2} size="h3">
        {isSuperuser ? 'Logins and data' : 'Logins'}
      </Title>
      <ProblemAlert error={revoke.error} />
      <Text size="sm">Ends all sessions and revokes all tokens. The person may log in again.</Text>
      <Group>
        <Button variant="default" loading={revoke.isPending} onClick={open}>
          Log out everywhere
        </Button>
        {mayChangeAddress && <ChangeAddress email={email} />}
      </Group>
      {isSuperuser && (
        <Group>
          <Anchor href={`/api/v1/jb/users/${encodeURIComponent(email)}/export/`} download>
            Download all data
          </Anchor>
          <ErasurePanel email={email} />
        </Group>
      )}
      <ConfirmModal
        isOpen={isAsking}
        title={`Log out ${email} everywhere?`}
        action="Log out"
        onConfirm={() => revoke.mutate({ email })}
        onClose={close}
      >
        Scripts with a token of this person stop working.
      </ConfirmModal>
    </Stack>
  );
};
