import { Button, Group, MultiSelect, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { NamedSwitch } from '../components/flag-field.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RemoveButton } from '../components/remove-button.tsx';
import { notify } from '../components/toasts.ts';
import type { Connection } from './connections.tsx';

type Props = {
  client: number;
  /** Undefined: a new one. */
  connection?: Connection;
  isOpen: boolean;
  onClose: () => void;
};

/** Creates or edits a connection. */
export const ConnectionDialog = ({ isOpen, onClose, ...props }: Props) => (
  <Dialog
    isOpen={isOpen}
    onClose={onClose}
    title={props.connection ? `Edit ${props.connection.name}` : 'Connect a provider'}
    size="lg"
    isSticky
  >
    <ConnectionForm {...props} onClose={onClose} />
  </Dialog>
);

const DEFAULTS = {
  name: '',
  issuer: '',
  client_id: '',
  scopes: 'openid email profile',
  email_claim: 'email',
  first_name_claim: 'given_name',
  last_name_claim: 'family_name',
  groups_claim: '',
  required_claim: '',
  required_value: '',
  provisions: false,
};

const valuesOf = (connection: Connection | undefined) => ({
  ...DEFAULTS,
  ...(connection && {
    ...Object.fromEntries(
      (Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]).map((field) => [field, connection[field]]),
    ),
  }),
  client_secret: '',
  default_groups: (connection?.default_groups ?? []).map(String),
  group_mapping: (connection?.group_mapping ?? []).map(({ claim, group }) => ({
    claim,
    group: String(group),
  })),
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
  const groups = useQuery(trpc.groups.list.queryOptions({ id: client }));
  const choices = (groups.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }));
  const { onError, prompt } = usePasswordConfirmation();
  const saved = (name: string): void => {
    for (const router of [trpc.sso, trpc.audit]) void queryClient.invalidateQueries(router.pathFilter());
    notify(`${name} was saved.`);
    onClose();
  };
  const create = useMutation(
    trpc.sso.create.mutationOptions({
      onSuccess: ({ name }) => saved(name),
      onError: (error, input) => onError(error, () => create.mutate(input)),
    }),
  );
  const update = useMutation(
    trpc.sso.update.mutationOptions({
      onSuccess: ({ name }) => saved(name),
      onError: (error, input) => onError(error, () => update.mutate(input)),
    }),
  );
  const error = create.error ?? update.error;
  const errors = joined(fieldErrors(error));
  const submit = (values: Values): void => {
    if (connection) update.mutate({ id: client, connection_id: connection.id, ...inputOf(values) });
    else create.mutate({ id: client, ...inputOf(values) });
  };
  const field = (name: keyof typeof DEFAULTS) => ({ ...form.getInputProps(name), error: errors[name] });
  return (
    <>
      <form onSubmit={form.onSubmit(submit)}>
        <Stack>
          <TextInput
            label="Name"
            description="People read it on the login page."
            required
            data-autofocus
            maxLength={100}
            {...field('name')}
          />
          <TextInput
            label="Issuer"
            description="The address of the provider, such as https://login.acme.com/realms/acme."
            required
            maxLength={2048}
            {...field('issuer')}
          />
          <TextInput label="Client ID" required maxLength={255} {...field('client_id')} />
          <PasswordInput
            label="Client secret"
            description={
              connection?.has_secret ? 'Empty keeps the present one.' : 'Empty for a public client.'
            }
            autoComplete="off"
            maxLength={1024}
            {...form.getInputProps('client_secret')}
            error={errors.client_secret}
          />
          <TextInput label="Scopes" required maxLength={500} {...field('scopes')} />
          <TextInput label="Claim of the email address" required maxLength={100} {...field('email_claim')} />
          <Group grow align="flex-start">
            <TextInput label="Claim of the first name" maxLength={100} {...field('first_name_claim')} />
            <TextInput label="Claim of the last name" maxLength={100} {...field('last_name_claim')} />
          </Group>
          <Group grow align="flex-start">
            <TextInput
              label="Required claim"
              description="That only accounts of your organization have. Empty: none."
              maxLength={100}
              {...field('required_claim')}
            />
            <TextInput label="Its value" maxLength={255} {...field('required_value')} />
          </Group>
          <NamedSwitch
            label="Create people who are not invited"
            description="At their first login, if their address is in a verified domain."
            {...form.getInputProps('provisions', { type: 'checkbox' })}
          />
          <MultiSelect
            label="Groups of people whom a login creates"
            data={choices}
            {...form.getInputProps('default_groups')}
            error={errors.default_groups}
          />
          <TextInput
            label="Claim of the groups"
            description="Empty: groups stay as they are. Otherwise each login sets the groups below."
            maxLength={100}
            {...field('groups_claim')}
          />
          <Stack gap="xs" component="fieldset" bd="none" p={0} m={0}>
            <Text component="legend" size="sm" fw={500}>
              Groups by the groups of the provider
            </Text>
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
          </Stack>
          {Object.keys(errors).length === 0 && <ProblemAlert error={withoutConfirmation(error)} />}
          <DialogButtons action="Save" isPending={create.isPending || update.isPending} onClose={onClose} />
        </Stack>
      </form>
      {prompt}
    </>
  );
};
