import { Anchor, Button, Checkbox, NumberInput, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { FlagText } from '../components/flag-field.tsx';
import { StickyFormButtons } from '../components/form-buttons.tsx';
import { asText } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useSession } from '../session/use-session.ts';
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
      </Stack>
      {!isReadOnly && <StickyFormButtons {...buttons} />}
      {dialog}
    </form>
  );
};

const SHOWN = 5;
/** Limit of the service's list. */
const MAX_SHOWN = 1_000;
const TYPING_MS = 200;

type ExpiryProps = { clientId: number; days: number };

/** The people whose passwords would have expired with this setting. */
const ExpiryPreview = ({ clientId, days }: ExpiryProps) => {
  const { roles } = useSession();
  const effect = roles.is_superuser
    ? 'would have to change their password now'
    : 'would get a mail and have to change their password within seven days';
  const [isWhole, setWhole] = useState(false);
  const [settled] = useDebouncedValue(days, TYPING_MS);
  const preview = useQuery(
    trpc.passwords.previewExpiry.queryOptions(
      { id: clientId, days: settled, limit: isWhole ? MAX_SHOWN : SHOWN },
      { enabled: Number.isInteger(settled), placeholderData: keepPreviousData },
    ),
  );
  if (preview.isLoading) return <Skeleton height={20} />;
  if (!preview.data) return <ProblemAlert error={preview.error} />;
  const { total, users } = preview.data;
  return (
    <Text size="sm" aria-live="polite" className="day-table">
      {total === 0 ? `No one ${effect}.` : `${countOf(total)} ${effect}: `}
      {users.map(({ email }, index) => (
        <span key={email}>
          {index > 0 && ', '}
          <Anchor component={Link} to={`/people/${email}`} size="sm">
            {email}
          </Anchor>
        </span>
      ))}
      {total > users.length &&
        (isWhole ? (
          ' and others.'
        ) : (
          <Button variant="subtle" size="compact-sm" onClick={() => setWhole(true)}>
            Show all {total.toLocaleString()}
          </Button>
        ))}
    </Text>
  );
};

const countOf = (people: number): string =>
  people === 1 ? 'One person' : `${people.toLocaleString()} people`;
