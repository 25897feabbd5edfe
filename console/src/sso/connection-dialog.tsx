import { Button, Group, MultiSelect, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { NamedSwitch } from '../components/flag-field.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RemoveButton } from '../components/remove-button.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { notify } from '../components/toasts.ts';
import { type Connection, providerOf } from './providers.ts';

type Props = { client: number; connection: Connection; isOpen: boolean; onClose: () => void };

/** Edits a connection, by section. */
export const ConnectionDialog = ({ isOpen, onClose, ...props }: Props) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={`Edit ${props.connection.name}`} size="lg" isSticky>
    <ConnectionForm {...props} onClose={onClose} />
  </Dialog>
);

const TEXTS = [
  'name',
  'issuer',
  'client_id',
  'scopes',
  'email_claim',
  'first_name_claim',
  'last_name_claim',
  'groups_claim',
  'required_claim',
  'required_value',
] as const;
type TextField = (typeof TEXTS)[number];

const valuesOf = (connection: Connection) => ({
  ...(Object.fromEntries(TEXTS.map((field) => [field, connection[field]])) as Record<TextField, string>),
  client_secret: '',
  provisions: connection.provisions,
  default_groups: connection.default_groups.map(String),
  group_mapping: connection.group_mapping.map(({ claim, group }) => ({ claim, group: String(group) })),
});

type Values = ReturnType<typeof valuesOf>;

/** An empty secret keeps the present one. */
const inputOf = ({ client_secret, default_groups, group_mapping, ...fields }: Values) => ({
  ...fields,
  ...(client_secret !== '' && { client_secret }),
  default_groups: default_groups.map(Number),
  group_mapping: group_mapping
    .filter(({ claim, group }) => claim.trim() !== '' && group !== '')
    .map(({ claim, group }) => ({ claim, group: Number(group) })),
});

const ConnectionForm = ({ client, connection, onClose }: Omit<Props, 'isOpen'>) => {
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: valuesOf(connection) });
  const { onError, prompt } = usePasswordConfirmation();
  const update = useMutation(
    trpc.sso.update.mutationOptions({
      onSuccess: ({ name }) => {
        for (const router of [trpc.sso, trpc.audit]) void queryClient.invalidateQueries(router.pathFilter());
        notify(`${name} was saved.`);
        onClose();
      },
      onError: (error, input) => onError(error, () => update.mutate(input)),
    }),
  );
  const errors = joined(fieldErrors(update.error));
  const submit = (values: Values): void =>
    update.mutate({ id: client, connection_id: connection.id, ...inputOf(values) });
  const field = (name: TextField) => ({ ...form.getInputProps(name), error: errors[name] });
  const { addresses, labels } = providerOf(connection);
  return (
    <>
      <form onSubmit={form.onSubmit(submit)}>
        <Stack gap="lg">
          <Section title="Provider">
            <TextInput
              label="Name on the login page"
              required
              data-autofocus
              maxLength={100}
              {...field('name')}
            />
            <TextInput
              label="Issuer"
              description="A new one unlinks everyone, removes the secret and needs a new test."
              required
              maxLength={2048}
              {...field('issuer')}
            />
            <TextInput label={labels.id} required maxLength={255} {...field('client_id')} />
            <PasswordInput
              label={labels.secret}
              description={connection.has_secret ? 'Leave empty to keep the current one.' : undefined}
              autoComplete="off"
              maxLength={1024}
              {...form.getInputProps('client_secret')}
              error={errors.client_secret}
            />
          </Section>
          <Section title="Who can log in">
            <Group grow align="flex-start">
              <TextInput
                label="Required claim"
                description="A claim that only accounts of your organization have."
                maxLength={100}
                {...field('required_claim')}
              />
              <TextInput
                label="Its value"
                description="Accounts with another value are refused."
                maxLength={255}
                {...field('required_value')}
              />
            </Group>
            <NamedSwitch
              label="Create people who are not invited"
              description="At their first login, if their address is in a verified domain."
              {...form.getInputProps('provisions', { type: 'checkbox' })}
            />
          </Section>
          <Section title="What the provider states">
            <TextInput label="Scopes" required maxLength={500} {...field('scopes')} />
            <TextInput
              label="Claim of the email address"
              required
              maxLength={100}
              {...field('email_claim')}
            />
            <Group grow align="flex-start">
              <TextInput label="Claim of the first name" maxLength={100} {...field('first_name_claim')} />
              <TextInput label="Claim of the last name" maxLength={100} {...field('last_name_claim')} />
            </Group>
          </Section>
          <Groups client={client} form={form} errors={errors} />
          <Section title="Addresses to enter at the provider">
            {addresses.map(([address, label]) => (
              <SecretField key={address} label={label} value={connection[address]} isSecondary />
            ))}
          </Section>
          {Object.keys(errors).length === 0 && <ProblemAlert error={withoutConfirmation(update.error)} />}
          <DialogButtons action="Save" isPending={update.isPending} onClose={onClose} />
        </Stack>
      </form>
      {prompt}
    </>
  );
};

const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <Stack gap="sm" component="fieldset" bd="none" p={0} m={0} miw={0}>
    <Text component="legend" fw={600} mb="xs">
      {title}
    </Text>
    {children}
  </Stack>
);

type GroupsProps = {
  client: number;
  form: UseFormReturnType<Values>;
  errors: Record<string, string | undefined>;
};

const Groups = ({ client, form, errors }: GroupsProps) => {
  const groups = useQuery(trpc.groups.list.queryOptions({ id: client }));
  const choices = (groups.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }));
  return (
    <Section title="Groups">
      <MultiSelect
        label="Groups of people whom a login creates"
        data={choices}
        {...form.getInputProps('default_groups')}
        error={errors.default_groups}
      />
      <TextInput
        label="Claim of the groups"
        description="Leave empty to keep groups as they are. Otherwise, each login sets the groups below."
        maxLength={100}
        {...form.getInputProps('groups_claim')}
        error={errors.groups_claim}
      />
      {form.getValues().group_mapping.map((_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no ids, and their fields are controlled
        <Group key={index} wrap="nowrap" align="flex-end">
          <TextInput
            label={`Group ${index + 1} at the provider`}
            flex={1}
            maxLength={255}
            {...form.getInputProps(`group_mapping.${index}.claim`)}
          />
          <Select
            label={`Group ${index + 1} here`}
            flex={1}
            data={choices}
            {...form.getInputProps(`group_mapping.${index}.group`)}
          />
          <RemoveButton
            label={`Remove group ${index + 1}`}
            onClick={() => form.removeListItem('group_mapping', index)}
          />
        </Group>
      ))}
      {errors.group_mapping && (
        <Text size="sm" role="alert">
          {errors.group_mapping}
        </Text>
      )}
      <div>
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => form.insertListItem('group_mapping', { claim: '', group: '' })}
        >
          Add a group
        </Button>
      </div>
    </Section>
  );
};
