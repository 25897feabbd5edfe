import { Button, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { ActionDialog } from '../components/action-dialog.tsx';
import { shortDateOf } from '../components/date-text.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { SecondFactorList } from '../components/second-factor-list.tsx';
import { notify } from '../components/toasts.ts';
import { useAskedDialog } from '../components/use-asked-dialog.ts';
import { useSession } from '../session/use-session.ts';
import type { PersonData } from './use-person.ts';

type Account = NonNullable<PersonData['screen']['account']>;

/** The second factors of a person, and their reset. */
export const PersonFactors = ({ email, account }: { email: string; account: Account }) => {
  const [isOpen, { open, close }] = useDisclosure();
  const isSelf = useSession().user.email === email;
  const { second_factors: factors, recovery_codes: codesLeft, factor_required_from: from } = account;
  const mayReset = factors.length > 0 && !isSelf;
  useAskedDialog({ 'reset-factors': mayReset && open });
  return (
    <Stack className="card" component="section" aria-labelledby="second-factor" align="flex-start">
      <Title order={2} size="h3" id="second-factor">
        Second factor
      </Title>
      {factors.length === 0 ? (
        <Text>None. {stateOf(account)}</Text>
      ) : (
        <SecondFactorList factors={factors} codesLeft={codesLeft} />
      )}
      {factors.length > 0 && from && <Text>A passkey is required from {shortDateOf(from)} on.</Text>}
      {mayReset && (
        <Button variant="default" onClick={open}>
          Reset second factor
        </Button>
      )}
      <ResetFactorsDialog email={email} isOpen={isOpen} onClose={close} />
    </Stack>
  );
};

const stateOf = ({ factor_required_from: from, needs_passkey: needsPasskey }: Account): string => {
  if (!from) return 'Logging in takes only a password.';
  const what = needsPasskey ? 'A passkey' : 'One';
  return from > new Date()
    ? `${what} is required from ${shortDateOf(from)} on.`
    : `${what} is required: the next login sets it up.`;
};

type Props = { email: string; isOpen: boolean; onClose: () => void };

/** Removes the second factors of a person who has lost them. */
const ResetFactorsDialog = ({ email, isOpen, onClose }: Props) => {
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
            This removes all passkeys, authenticator apps and recovery codes of the person, and logs them out
            everywhere. Until they set up a second factor again, their password is enough. Do this only if you
            know that they asked for it. They get a mail. Their API tokens keep working.
          </Text>
          <TextInput
            label="Reason"
            description="Optional. Kept in the audit trail."
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
