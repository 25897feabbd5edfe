import { Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { ActionDialog } from '../components/action-dialog.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { notify } from '../components/toasts.ts';

type Props = { email: string; isOpen: boolean; onClose: () => void };

/** Removes the second factors of a person who has lost them. */
export const ResetFactorsDialog = ({ email, isOpen, onClose }: Props) => {
  const queryClient = useQueryClient();
  const [reason, setReason] = useState('');
  const { onError, prompt } = usePasswordConfirmation();
  const reset = useMutation(
    trpc.users.resetFactors.mutationOptions({
      onSuccess: () => {
        onClose();
        setReason('');
        for (const router of [trpc.users, trpc.mail, trpc.audit])
          void queryClient.invalidateQueries(router.pathFilter());
        notify(`The second factor of ${email} was reset.`);
      },
      onError: (error, input) => onError(error, () => reset.mutate(input)),
    }),
  );
  return (
    <>
      <ActionDialog
        isOpen={isOpen}
        title={`Reset the second factor of ${email}?`}
        action="Reset second factor"
        isDanger
        run={() => reset.mutate({ email, reason: reason.trim() })}
        state={{ isPending: reset.isPending, error: withoutConfirmation(reset.error) }}
        onClose={onClose}
      >
        <Stack>
          <Text>
            All passkeys, authenticator apps and recovery codes of the person end, and they are logged out
            everywhere: their password is enough to log in until they set up a second factor again. Do this
            only if you know that they have asked for it. They get a mail. Their API tokens stay valid.
          </Text>
          <TextInput
            label="Reason"
            description="For the audit trail. May be empty."
            maxLength={500}
            value={reason}
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
          />
        </Stack>
      </ActionDialog>
      {prompt}
    </>
  );
};
