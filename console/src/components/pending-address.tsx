import { Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ActionDialog, useAction } from './action-dialog.tsx';
import { timeText } from './date-text.tsx';

type Props = {
  /** The address that will change. */
  email: string;
  pending: NonNullable<Outputs['profile']['pendingEmail']['pending']>;
  /** Null for users who may not cancel it. */
  cancel: (() => Promise<unknown>) | null;
  /** Further information. */
  children?: ReactNode;
};

/** A pending change of the address, which the new mailbox must confirm, and a button to cancel it. */
export const PendingAddress = ({ email, pending, cancel, children }: Props) => {
  const [isAsking, { open, close }] = useDisclosure();
  const queryClient = useQueryClient();
  const cancelling = useAction(
    { mutationFn: async () => cancel?.() },
    {
      message: 'Cancelled. The address stays as it is.',
      onDone: () => {
        close();
        for (const router of [trpc.users.screen, trpc.profile, trpc.audit, trpc.mail])
          void queryClient.invalidateQueries(router.pathFilter());
      },
    },
  );
  const { new_email: to, requested_by: by, ends_at: end } = pending;
  return (
    <Group className="notice" gap="sm" role="status">
      <Text size="sm" flex="1 1 16rem" className="break-words">
        The change to <strong>{to}</strong> is not confirmed yet. Its link works until {timeText(end)}.
        {by && by !== email && ` Requested by ${by}.`}
        {children}
      </Text>
      {cancel && (
        <Button variant="default" size="xs" onClick={open}>
          Cancel the change
        </Button>
      )}
      <ActionDialog
        isOpen={isAsking}
        title="Cancel the change of the address?"
        action="Cancel the change"
        dismiss="Keep it"
        run={() => cancelling.mutate()}
        state={cancelling}
        onClose={close}
      >
        The link that was mailed to {to} stops working.
      </ActionDialog>
    </Group>
  );
};
