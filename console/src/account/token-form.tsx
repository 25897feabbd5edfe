import { Alert, Button, Group, Stack, TextInput } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Inputs, steward, trpc } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { limitsOf, NO_LIMITS, TokenLimits } from './token-limits.tsx';

/** Creates a named token and shows it once. */
export const TokenForm = () => {
  const queryClient = useQueryClient();
  const [name, setName] = useState('');
  const [limits, setLimits] = useState(NO_LIMITS);
  // A repeat of the same name after a lost response shows the token that was created.
  const keys = useIdempotencyKeys();
  const { onError, prompt } = usePasswordConfirmation();
  const create = useMutation({
    mutationFn: (input: Inputs['tokens']['createNamed']) =>
      steward.api.tokens.createNamed.mutate(input, { context: { idempotencyKey: keys.keyOf(input) } }),
    onSuccess: () => {
      keys.forget();
      setName('');
      setLimits(NO_LIMITS);
      void queryClient.invalidateQueries(trpc.tokens.list.pathFilter());
      void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
    },
    onError: (error, input) => onError(error, () => create.mutate(input)),
  });
  const { name: invalid, ...faults } = joined(fieldErrors(create.error));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate({ name: name.trim(), ...limitsOf(limits) });
  };
  return (
    <>
      <form onSubmit={submit}>
        <Stack gap="xs" maw="32rem">
          <Group align="flex-end">
            <TextInput
              label="Name of a new token"
              placeholder="Nightly export"
              flex={1}
              maxLength={100}
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
              error={invalid}
            />
            <Button type="submit" disabled={name.trim() === ''} loading={create.isPending}>
              Create token
            </Button>
          </Group>
          <TokenLimits value={limits} onChange={setLimits} faults={faults} />
          {invalid === undefined && <ProblemAlert error={withoutConfirmation(create.error)} />}
        </Stack>
      </form>
      {prompt}
      <Dialog
        isOpen={create.data !== undefined}
        onClose={create.reset}
        title={`Token “${create.data?.name ?? ''}”`}
        size="lg"
        isSticky
      >
        {create.data && (
          <Stack>
            <Alert color="orange" variant="light">
              Copy the token now. It is not shown again.
            </Alert>
            <SecretField label="Token" value={create.data.token} />
            <Group justify="flex-end">
              <Button variant="default" onClick={create.reset}>
                Done
              </Button>
            </Group>
          </Stack>
        )}
      </Dialog>
    </>
  );
};
