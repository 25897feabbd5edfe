import { Button, Group, List, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { useForget } from '../components/use-forget.ts';

type Props = { email: string; isOpen: boolean; onClose: () => void };

/** Erases a person. First shows the rows that would be replaced, and asks the user to type the address. */
export const EraseDialog = ({ email, isOpen, onClose }: Props) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={`Erase ${email}?`}>
    {isOpen && <ErasureForm email={email} onClose={onClose} />}
  </Dialog>
);

const ErasureForm = ({ email, onClose }: { email: string; onClose: () => void }) => {
  const [typed, setTyped] = useState('');
  const navigate = useNavigate();
  const forget = useForget();
  const preview = useQuery(trpc.users.previewErasure.queryOptions({ email }, { staleTime: 0 }));
  const { onError, prompt } = usePasswordConfirmation();
  const { error: previewError, refetch } = preview;
  useEffect(() => onError(previewError, () => void refetch()), [previewError, onError, refetch]);
  const erase = useMutation(
    trpc.users.erase.mutationOptions({
      onSuccess: async ({ pseudonym }) => {
        notify(`Erased. The pseudonym is ${pseudonym}.`);
        await forget();
        await navigate({ to: '/people', search: {} });
      },
      onError: (error, input) => onError(error, () => erase.mutate(input)),
    }),
  );
  return (
    <Stack>
      <ProblemAlert error={withoutConfirmation(previewError ?? erase.error)} />
      {preview.isPending && <Skeleton height={160} />}
      {preview.data && <Replaced preview={preview.data} />}
      <TextInput
        label="Type the email address to confirm"
        data-autofocus
        value={typed}
        onChange={({ currentTarget: { value } }) => setTyped(value)}
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          color="red"
          loading={erase.isPending}
          disabled={!preview.data || typed.trim().toLowerCase() !== email}
          onClick={() =>
            preview.data &&
            erase.mutate({ email, confirmation: preview.data.confirmation, confirm_email: typed.trim() })
          }
        >
          Erase
        </Button>
      </Group>
      {prompt}
    </Stack>
  );
};

const Replaced = ({ preview }: { preview: Outputs['users']['previewErasure'] }) => {
  const { confirmation: _code, expires_at: _until, ...counts } = preview;
  return (
    <>
      <Text>
        This replaces the person by a pseudonym. It cannot be undone. Texts that others wrote about them stay.
      </Text>
      <List size="sm">
        {Object.entries(counts)
          .filter(([, count]) => count > 0)
          .map(([name, count]) => (
            <List.Item key={name}>
              {name.replaceAll('_', ' ')}: {count.toLocaleString()}
            </List.Item>
          ))}
      </List>
    </>
  );
};
