import { Stack, Switch, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useSession } from '../layout/use-session.ts';
import { type Person, usePersonForm } from './use-person-form.ts';

const LABELS = [
  ['first_name', 'First name'],
  ['last_name', 'Last name'],
  ['is_active', 'Active: may log in'],
  ['is_demo_user', 'Demo account'],
] as const;

type Props = { person: Person; isReadOnly: boolean };

export const ProfileForm = ({ person, isReadOnly }: Props) => {
  const { form, update, problem, buttons, dialog } = usePersonForm('profile', person, LABELS, 'user.update');
  const [isAsking, setAsking] = useState(false);
  const isSelf = useSession().user.email === person.email;
  return (
    <form
      className="card"
      aria-labelledby="profile"
      onSubmit={form.onSubmit((values) => {
        const deactivates = !values.is_active && form.getInitialValues().is_active;
        if (deactivates) setAsking(true);
        else update.mutate(values);
      })}
    >
      <Stack>
        <Title order={2} size="h3" id="profile">
          Profile
        </Title>
        <ProblemAlert error={problem} />
        <TextInput
          label="First name"
          readOnly={isReadOnly}
          // Accepting an invitation requires it. Some people were added without one.
          required={person.first_name !== ''}
          pattern=".*\S.*"
          {...form.getInputProps('first_name')}
        />
        <TextInput label="Last name" readOnly={isReadOnly} {...form.getInputProps('last_name')} />
        <Switch
          label="Active: may log in"
          disabled={isReadOnly || isSelf}
          description={isSelf && 'You cannot deactivate your own account.'}
          {...form.getInputProps('is_active', { type: 'checkbox' })}
        />
        <Switch
          label="Demo account"
          description="Tells apps that this account is for showing them."
          disabled={isReadOnly}
          {...form.getInputProps('is_demo_user', { type: 'checkbox' })}
        />
        {!isReadOnly && <FormButtons {...buttons} />}
      </Stack>
      <ConfirmModal
        isOpen={isAsking}
        title={`Deactivate ${person.email}?`}
        action="Deactivate"
        onConfirm={() => update.mutate(form.getValues())}
        onClose={() => setAsking(false)}
      >
        They are logged out at once and cannot log in until they are reactivated.
      </ConfirmModal>
      {dialog}
    </form>
  );
};
