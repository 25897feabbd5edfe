import { Stack, Text, TextInput, Title } from '@mantine/core';
import { FlagField } from '../components/flag-field.tsx';
import { StickyFormButtons } from '../components/form-buttons.tsx';
import { asText } from '../components/form-fields.ts';
import { ObjectInput } from '../components/object-input.tsx';
import { AttributeFields } from '../data-permissions/attribute-fields.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import classes from './person.module.css';
import { type Person, usePersonForm } from './use-person-form.ts';

const LABELS = [
  ['first_name', 'First name'],
  ['last_name', 'Last name'],
  ['is_demo_user', 'Demo account'],
  ['extra', 'Extra data'],
] as const;

type Props = {
  person: Person;
  /** What the user changes here: the account, only the memberships in some clients, or nothing. */
  changes: 'account' | 'memberships' | 'nothing';
  /** The only client of the person, whose data permissions have fields; undefined if there are several. */
  client: number | undefined;
};

export const ProfileForm = ({ person, changes, client }: Props) => {
  const [isReadOnly, isShared] = [changes === 'nothing', changes === 'memberships'];
  const { form, update, buttons, dialog } = usePersonForm(person, {
    name: 'profile',
    labels: LABELS,
    action: isShared ? 'membership.update' : 'user.update',
  });
  const { attributes } = useDeclared(client);
  const areNamesReadOnly = isReadOnly || isShared;
  return (
    <form
      className="card"
      aria-labelledby="profile"
      onSubmit={form.onSubmit((values) => update.mutate(values))}
    >
      <Stack className={classes.fields ?? ''}>
        <Title order={2} size="h3" id="profile">
          Profile
        </Title>
        {isShared && (
          <Text size="sm">
            Only the person, superusers, and admins of all their clients can change the name.
          </Text>
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
          label="Demo account"
          description="Apps see that this is a demo account."
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
      {dialog}
    </form>
  );
};
