import { Group, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { agoOf } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RemoveButton } from '../components/remove-button.tsx';
import { notify } from '../components/toasts.ts';

type Identity = Outputs['users']['identities'][number];
type Props = { email: string; mayUnlink: boolean };

/** The identity providers at which a person logs in. Renders nothing for people who use their password. */
export const PersonIdentities = ({ email, mayUnlink }: Props) => {
  const queryClient = useQueryClient();
  const identities = useQuery(trpc.users.identities.queryOptions({ email }));
  const [toUnlink, setToUnlink] = useState<Identity | null>(null);
  const unlink = useMutation(
    trpc.users.unlinkIdentity.mutationOptions({
      onSuccess: () => {
        for (const router of [trpc.users.identities, trpc.sessions.listByUser, trpc.audit])
          void queryClient.invalidateQueries(router.pathFilter());
        notify('The account was unlinked.');
      },
    }),
  );
  if (!identities.data || identities.data.length === 0) return <ProblemAlert error={identities.error} />;
  return (
    <Stack className="card" component="section" aria-labelledby="identities">
      <Title order={2} size="h3" id="identities">
        Single sign-on
      </Title>
      <ProblemAlert error={unlink.error} />
      <Stack component="ul" className="plain-list" gap="sm">
        {identities.data.map((identity) => (
          <Group component="li" key={identity.id} justify="space-between" wrap="nowrap">
            <div>
              <Text fw={600} className="break-words">
                {identity.connection_name}
              </Text>
              <Text size="sm" c="dimmed" className="break-words">
                As {identity.email},{' '}
                {identity.last_login ? `last login ${agoOf(identity.last_login)}` : 'no login yet'}
              </Text>
            </div>
            {mayUnlink && (
              <RemoveButton
                label={`Unlink ${identity.connection_name}`}
                onClick={() => setToUnlink(identity)}
              />
            )}
          </Group>
        ))}
      </Stack>
      <ConfirmModal
        isOpen={toUnlink !== null}
        title={`Unlink ${toUnlink?.connection_name ?? ''}?`}
        action="Unlink"
        onConfirm={() => toUnlink && unlink.mutate({ email, identity_id: toUnlink.id })}
        onClose={() => setToUnlink(null)}
      >
        <Text>
          Sessions and tokens that began with it end. The next login with it connects the account again.
        </Text>
      </ConfirmModal>
    </Stack>
  );
};
