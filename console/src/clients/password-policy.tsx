import { Checkbox, NumberInput, Stack, Text, Title } from '@mantine/core';
import { FlagText } from '../components/flag-field.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { asText } from '../components/form-fields.ts';
import { ExpiryPreview } from './expiry-preview.tsx';
import { type Client, useClientForm } from './use-client-form.ts';

const RULES = [
  ['password_require_upper', 'Requires an upper-case letter'],
  ['password_require_lower', 'Requires a lower-case letter'],
  ['password_require_numeric', 'Requires a digit'],
  ['password_require_special', 'Requires a special character'],
  ['password_allow_common', 'Allows common passwords'],
] as const;

const LABELS = [
  ['password_min_length', 'Minimum length'],
  ...RULES,
  ['password_expiration_days', 'Passwords expire after this many days'],
] as const;

type Props = { client: Client; isReadOnly: boolean };

export const PasswordPolicy = ({ client, isReadOnly }: Props) => {
  const { form, update, buttons, dialog } = useClientForm('passwords', client, LABELS);
  return (
    <form
      className="card"
      onSubmit={form.onSubmit((values) => update.mutate(values))}
      aria-label="Password policy"
    >
      <Stack maw={520}>
        <Title order={2} size="h3">
          New passwords
        </Title>
        <NumberInput
          label="Minimum length"
          min={8}
          max={128}
          {...asText(isReadOnly)}
          {...form.getInputProps('password_min_length')}
        />
        {RULES.map(([field, label]) =>
          isReadOnly ? (
            <FlagText key={field} label={label} isOn={client[field]} />
          ) : (
            <Checkbox key={field} label={label} {...form.getInputProps(field, { type: 'checkbox' })} />
          ),
        )}
        <Text size="sm" c="dimmed">
          These rules apply when someone sets a password. Current passwords stay valid.
        </Text>
        <Title order={2} size="h3">
          Expiry
        </Title>
        <NumberInput
          label="Passwords expire after this many days"
          description="0: they do not expire."
          min={0}
          max={3650}
          {...asText(isReadOnly)}
          {...form.getInputProps('password_expiration_days')}
        />
        <ExpiryPreview clientId={client.id} days={form.values.password_expiration_days} />
        {!isReadOnly && <FormButtons {...buttons} />}
      </Stack>
      {dialog}
    </form>
  );
};
