import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { fieldErrors, isProblem } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useCallback, useState } from 'react';
import { trpc } from '../api.ts';
import { Dialog } from './dialog.tsx';
import { joined } from './form-fields.ts';
import { ProblemAlert } from './problem-alert.tsx';
import { UsernameField } from './username-field.tsx';

/** Whether the API wants the password again, which it does for sensitive actions some minutes after a login. */
const isConfirmationNeeded = (error: unknown): boolean => isProblem(error, 'reauthentication-required');

/** The error of an action, unless the prompt for the password is shown instead. */
export const withoutConfirmation = (error: unknown): unknown => (isConfirmationNeeded(error) ? null : error);

/**
 * Asks for the password when the API demands it, and then repeats the action. Pass `onError` to a mutation, and render
 * `prompt` beside it.
 */
export const usePasswordConfirmation = () => {
  const [repeat, setRepeat] = useState<(() => void) | null>(null);
  const onError = useCallback((error: unknown, action: () => void): void => {
    if (isConfirmationNeeded(error)) setRepeat(() => action);
  }, []);
  const prompt = repeat && (
    <PasswordPrompt
      onClose={() => setRepeat(null)}
      onConfirmed={() => {
        setRepeat(null);
        repeat();
      }}
    />
  );
  return { onError, prompt };
};

type Props = { onConfirmed: () => void; onClose: () => void };

const PasswordPrompt = ({ onConfirmed, onClose }: Props) => {
  const [password, setPassword] = useState('');
  const confirm = useMutation(trpc.sessions.confirm.mutationOptions({ onSuccess: onConfirmed }));
  const wrong = joined(fieldErrors(confirm.error)).password;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    confirm.mutate({ password });
  };
  return (
    <Dialog isOpen onClose={onClose} title="Confirm your password">
      <form onSubmit={submit}>
        <UsernameField />
        <Stack>
          <Text>You logged in a while ago. Enter your password to go on.</Text>
          {wrong === undefined && <ProblemAlert error={confirm.error} />}
          <PasswordInput
            label="Password"
            autoComplete="current-password"
            data-autofocus
            value={password}
            onChange={({ currentTarget }) => setPassword(currentTarget.value)}
            error={wrong}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={confirm.isPending} disabled={password === ''}>
              Confirm
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
};
