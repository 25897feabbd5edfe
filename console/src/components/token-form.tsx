import { Alert, Button, Group, Stack, TextInput } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Inputs } from '../api.ts';
import { Dialog } from './dialog.tsx';
import { joined } from './form-fields.ts';
import { useIdempotencyKeys } from './idempotency-key.ts';
import { usePasswordConfirmation, withoutConfirmation } from './password-confirmation.tsx';
import { ProblemAlert } from './problem-alert.tsx';
import { SecretField } from './secret-field.tsx';
import { limitsOf, NO_LIMITS, TokenLimits } from './token-limits.tsx';

type Input = Omit<Inputs['tokens']['createNamed'], 'client'>;

type Props = {
  create: (input: Input, context: { idempotencyKey: string }) => Promise<{ name: string; token: string }>;
  onCreated: () => void;
  /** Who has all rights of a token without limits: `you`. */
  owner: string;
};

/** Creates a named token and shows it once. */
export const TokenForm = ({ create: send, onCreated, owner }: Props) => {
  const [name, setName] = useState('');
  const [limits, setLimits] = useState(NO_LIMITS);
  // A repeat of the same name after a lost response shows the token that was created.
  const keys = useIdempotencyKeys();
  const { onError, prompt } = usePasswordConfirmation();
  const create = useMutation({
    mutationFn: (input: Input) => send(input, { idempotencyKey: keys.keyOf(input) }),
    onSuccess: () => {
      keys.forget();
      setName('');
      setLimits(NO_LIMITS);
      onCreated();
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
          <TokenLimits owner={owner} value={limits} onChange={setLimits} faults={faults} />
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
