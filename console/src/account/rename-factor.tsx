import { TextInput } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { ActionDialog, useAction } from '../components/action-dialog.tsx';
import { joined } from '../components/form-fields.ts';
import type { SecondFactor } from '../components/second-factor-list.tsx';

type Props = { factor: SecondFactor; onClose: () => void };

/** Asks for another name of a passkey or an app. */
export const RenameFactor = ({ factor, onClose }: Props) => {
  const queryClient = useQueryClient();
  const [name, setName] = useState(factor.name);
  const rename = useAction(trpc.mfa.rename.mutationOptions(), {
    message: 'Renamed.',
    onDone: () => {
      onClose();
      for (const router of [trpc.mfa, trpc.audit]) void queryClient.invalidateQueries(router.pathFilter());
    },
  });
  const wrong = joined(fieldErrors(rename.error)).name;
  return (
    <ActionDialog
      isOpen
      title={`Rename ${factor.name}`}
      action="Rename"
      run={() => rename.mutate({ id: factor.id, name: name.trim() })}
      state={{ isPending: rename.isPending, error: wrong === undefined ? rename.error : null }}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="To tell your passkeys and apps apart."
        maxLength={100}
        data-autofocus
        value={name}
        error={wrong}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
    </ActionDialog>
  );
};
