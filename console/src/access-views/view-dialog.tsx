import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { capitalized } from '../components/detail-words.ts';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { notify } from '../components/toasts.ts';
import { type AccessView, frameOf, isManaged, stateOf, usesOf } from './view-state.ts';
import { ViewUses } from './view-uses.tsx';

type Props = { view: AccessView; onClose: () => void };

/** A share link, how to embed it (for users who may change it), and its uses. */
export const ViewDialog = ({ view, onClose }: Props) => {
  const queryClient = useQueryClient();
  const [isAsking, ask] = useState(false);
  const revoke = useMutation(
    trpc.accessViews.deactivate.mutationOptions({
      onSuccess: () => {
        notify('Share link revoked.');
        void queryClient.invalidateQueries(trpc.accessViews.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
      },
    }),
  );
  const state = stateOf(view);
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Share link for ${view.user ?? 'anyone with the link'}`}
      size="xl"
    >
      <Stack>
        <Text c="dimmed">
          {`${capitalized(state)}, used ${usesOf(view)}${view.autorotate ? ', with a new link after each use' : ''}.`}
        </Text>
        {!isManaged(view) && (
          <Text c="dimmed">Its link opens the app, so only those who manage it see the link.</Text>
        )}
        {isManaged(view) && state === 'active' && (
          <>
            <SecretField label="Link" value={view.url} />
            <SecretField label="HTML for another page" value={frameOf(view)} isSecondary />
            <Group>
              <Anchor href={view.url} target="_blank" rel="noreferrer">
                Open the link
              </Anchor>
              <Text c="dimmed" size="sm">
                This counts as a use.
              </Text>
            </Group>
          </>
        )}
        <ProblemAlert error={revoke.error} />
        <ViewUses id={view.id} />
        {isManaged(view) && view.is_active && (
          <Group justify="flex-end">
            <Button variant="default" color="red" loading={revoke.isPending} onClick={() => ask(true)}>
              Revoke
            </Button>
          </Group>
        )}
      </Stack>
      <ConfirmModal
        isOpen={isAsking}
        title="Revoke the share link?"
        action="Revoke"
        onConfirm={() => revoke.mutate({ key: String(view.id) })}
        onClose={() => ask(false)}
      >
        <Text>Its link stops working, and who has opened the app with it loses it at the next request.</Text>
      </ConfirmModal>
    </Dialog>
  );
};
