import { Button, Group, PasswordInput, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { fieldErrors, isProblem } from '@steward/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useCallback, useState } from 'react';
import { trpc } from '../api.ts';
import { Dialog } from './dialog.tsx';
import { CODE_INPUT, joined } from './form-fields.ts';
import { ProblemAlert } from './problem-alert.tsx';
import { UsernameField } from './username-field.tsx';

/** Whether the API wants the password or a code again, which it does for sensitive actions some minutes after a login. */
const isConfirmationNeeded = (error: unknown): boolean => isProblem(error, 'reauthentication-required');

/** The error of an action, unless the prompt is shown instead. */
export const withoutConfirmation = (error: unknown): unknown => (isConfirmationNeeded(error) ? null : error);

/**
 * Asks for the password, or the code of a second factor, when the API demands it, and then repeats the action. Pass `onError` to a
 * mutation, and render `prompt` beside it.
 */
export const usePasswordConfirmation = () => {
  const [repeat, setRepeat] = useState<(() => void) | null>(null);
  const onError = useCallback((error: unknown, action: () => void): void => {
    if (isConfirmationNeeded(error)) setRepeat(() => action);
  }, []);
  const prompt = repeat && (
    <Prompt
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

const Prompt = ({ onConfirmed, onClose }: Props) => {
  // Another tab may have changed it.
  const own = useQuery(trpc.mfa.list.queryOptions(undefined, { staleTime: 0 }));
  const kind = own.data && own.data.factors.length > 0 ? 'code' : 'password';
  const isKnown = !own.isFetching;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={isKnown && kind === 'code' ? 'Confirm with a code' : 'Confirm your password'}
    >
      {isKnown ? (
        <ProofForm kind={kind} onConfirmed={onConfirmed} onClose={onClose} />
      ) : (
        <Skeleton height={120} />
      )}
    </Dialog>
  );
};

const ProofForm = ({ kind, onConfirmed, onClose }: Props & { kind: 'password' | 'code' }) => {
  const [proof, setProof] = useState('');
  const confirm = useMutation(trpc.sessions.confirm.mutationOptions({ onSuccess: onConfirmed }));
  const wrong = joined(fieldErrors(confirm.error))[kind];
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    confirm.mutate(kind === 'code' ? { code: proof } : { password: proof });
  };
  const field = {
    'data-autofocus': true,
    value: proof,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => setProof(currentTarget.value),
    error: wrong,
  };
  return (
    <form onSubmit={submit}>
      <UsernameField />
      <Stack>
        <Text>
          {kind === 'code'
            ? 'You logged in a while ago. Enter a code of your authenticator app, or a recovery code, to go on.'
            : 'You logged in a while ago. Enter your password to go on.'}
        </Text>
        {wrong === undefined && <ProblemAlert error={confirm.error} />}
        {kind === 'code' ? (
          <TextInput label="Code" {...CODE_INPUT} {...field} />
        ) : (
          <PasswordInput label="Password" autoComplete="current-password" {...field} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={confirm.isPending} disabled={proof.trim() === ''}>
            Confirm
          </Button>
        </Group>
      </Stack>
    </form>
  );
};
