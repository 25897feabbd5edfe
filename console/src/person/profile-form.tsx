import { Stack, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { FlagField } from '../components/flag-field.tsx';
import { StickyFormButtons } from '../components/form-buttons.tsx';
import { asText } from '../components/form-fields.ts';
import { ObjectInput } from '../components/object-input.tsx';
import { AttributeFields } from '../data-permissions/attribute-fields.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { useSession } from '../layout/use-session.ts';
import classes from './person.module.css';
import type { PersonState } from './person-state.ts';
import { SuspendModal } from './suspend-modal.tsx';
import { type Person, usePersonForm } from './use-person-form.ts';

const labelsOf = (active: string) =>
  [
    ['first_name', 'First name'],
    ['last_name', 'Last name'],
    ['is_active', active],
    ['is_demo_user', 'Demo account'],
    ['extra', 'Extra data'],
  ] as const;

type Props = {
  person: Person;
  state: PersonState;
  /** What the user changes here: the account, only the memberships in some clients, or nothing. */
  changes: 'account' | 'memberships' | 'nothing';
  /** The names of these clients. */
  clients: string;
  /** The only client of the person, whose data permissions have fields; undefined if there are several. */
  client: number | undefined;
};

export const ProfileForm = ({ person, state, changes, clients, client }: Props) => {
  const [isReadOnly, isShared] = [changes === 'nothing', changes === 'memberships'];
  const activeLabel = isShared ? `Active in ${clients}` : 'Active: may log in';
  const { form, update, buttons, dialog } = usePersonForm(person, {
    name: 'profile',
    labels: labelsOf(activeLabel),
    action: isShared ? 'membership.update' : 'user.update',
  });
  const { attributes } = useDeclared(client);
  const [isAsking, setAsking] = useState(false);
  const areNamesReadOnly = isReadOnly || isShared;
  const isSelf = useSession().user.email === person.email;
  const question = {
    isOpen: isAsking,
    onConfirm: () => update.mutate(form.getValues()),
    onClose: () => setAsking(false),
  };
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
      <Stack className={classes.fields ?? ''}>
        <Title order={2} size="h3" id="profile">
          Profile
        </Title>
        {isShared && (
          <Text size="sm">Only the person, superusers, and admins of all their clients change the name.</Text>
        )}
        <TextInput
          label="First name"
          {...asText(areNamesReadOnly)}
          // Required to accept an invitation. Some people were added without one.
          required={person.first_name !== '' && !isShared}
          pattern=".*\S.*"
          {...form.getInputProps('first_name')}
        />
        <TextInput label="Last name" {...asText(areNamesReadOnly)} {...form.getInputProps('last_name')} />
        <FlagField
          label={activeLabel}
          isReadOnly={isReadOnly || isSelf || (isShared && state === 'inactive')}
          description={activeHint({ isSelf, isShared, state, clients, isActive: person.is_active })}
          {...form.getInputProps('is_active', { type: 'checkbox' })}
        />
        <FlagField
          label="Demo account"
          description="Tells apps that this account is for showing them."
          isReadOnly={isReadOnly}
          {...form.getInputProps('is_demo_user', { type: 'checkbox' })}
        />
        {attributes.length > 0 ? (
          <AttributeFields
            attributes={attributes}
            description="What apps learn about this person."
            isReadOnly={isReadOnly}
            value={form.getValues().extra}
            error={form.errors.extra}
            onChange={(extra) => form.setFieldValue('extra', extra)}
          />
        ) : (
          <ObjectInput
            label="Extra data"
            description="What apps learn about this person: a JSON object, such as {&quot;region&quot;: &quot;North&quot;}, or empty."
            {...asText(isReadOnly)}
            {...form.getInputProps('extra')}
          />
        )}
      </Stack>
      {!isReadOnly && <StickyFormButtons {...buttons} />}
      {isShared ? (
        <SuspendModal {...question} email={person.email} clients={clients} />
      ) : (
        <ConfirmModal {...question} title={`Deactivate ${person.email}?`} action="Deactivate">
          They are logged out at once and cannot log in until they are reactivated.
        </ConfirmModal>
      )}
      {dialog}
    </form>
  );
};

type Facts = {
  isSelf: boolean;
  isShared: boolean;
  state: PersonState;
  clients: string;
  isActive: boolean;
};

/** Explains the effect of the switch. */
const activeHint = ({ isSelf, isShared, state, clients, isActive }: Facts): string | undefined => {
  if (isSelf) return 'You cannot deactivate your own account.';
  if (isShared && state === 'inactive') return 'The account is inactive. Only superusers reactivate it.';
  if (!isShared && state === 'suspended' && !isActive)
    return `May log in, but is suspended in ${clients}, and opens no app there.`;
  return undefined;
};
