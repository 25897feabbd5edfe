import { Button, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { clockTimeOf } from '../components/date-text.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

const MAX_MINUTES = 30;

type Apps = Outputs['users']['viewableApps'];
type Props = { email: string; name: string; apps: Apps; isOpen: boolean; onClose: () => void };

/** Looks at an app as a person, read-only. */
export const ViewAsDialog = ({ email, name, apps, isOpen, onClose }: Props) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={`View an app as ${name}`}>
    {isOpen && <ViewAsForm email={email} name={name} apps={apps} onClose={onClose} />}
  </Dialog>
);

const ViewAsForm = ({ email, name, apps, onClose }: Omit<Props, 'isOpen'>) => {
  const queryClient = useQueryClient();
  const [app, setApp] = useState(apps[0]?.id ?? '');
  const [reason, setReason] = useState('');
  const [minutes, setMinutes] = useState<number | string>(10);
  const { onError, prompt } = usePasswordConfirmation();
  const begin = useMutation(
    trpc.users.viewAs.mutationOptions({
      onSuccess: () => {
        for (const router of [trpc.users, trpc.audit])
          void queryClient.invalidateQueries(router.pathFilter());
      },
      onError: (error, input) => onError(error, () => begin.mutate(input)),
    }),
  );
  const label = apps.find(({ id }) => id === app)?.label;
  if (begin.data)
    return (
      <Stack>
        <Text>
          You look at {label} as {name} until {clockTimeOf(begin.data.ends_at)}. Nothing that you do there is
          saved.
        </Text>
        {/* A link: browsers block windows that a response opens. */}
        <Button component="a" href={begin.data.url} target="_blank" onClick={onClose} data-autofocus>
          Open {label} as {name}
        </Button>
      </Stack>
    );
  const faults = joined(fieldErrors(begin.error));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        begin.mutate({ email, app, reason: reason.trim(), minutes: Number(minutes) });
      }}
    >
      <Stack>
        <Text>
          You see the app with the data of {name}, and cannot change anything. {name} sees in their account
          that you looked, and why.
        </Text>
        {Object.keys(faults).length === 0 && <ProblemAlert error={withoutConfirmation(begin.error)} />}
        <Select
          label="App"
          allowDeselect={false}
          data={apps.map(({ id, label }) => ({ value: id, label }))}
          value={app}
          onChange={(id) => setApp(id ?? '')}
        />
        <TextInput
          label="Reason"
          required
          maxLength={500}
          value={reason}
          onChange={({ currentTarget }) => setReason(currentTarget.value)}
          error={faults.reason}
        />
        <NumberInput
          label="Minutes"
          min={1}
          max={MAX_MINUTES}
          allowDecimal={false}
          value={minutes}
          onChange={setMinutes}
          error={faults.minutes}
        />
        <DialogButtons
          action="View as"
          isPending={begin.isPending}
          isDisabled={reason.trim() === ''}
          onClose={onClose}
        />
      </Stack>
      {prompt}
    </form>
  );
};
