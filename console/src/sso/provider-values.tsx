import { Button, List, PasswordInput, SimpleGrid, Stack, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { type Inputs, trpc } from '../api.ts';
import { joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { messageOf } from '../components/screen-error.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { providerOf } from './providers.ts';
import { SetUpButtons, type StepProps } from './set-up-steps.tsx';
import { useSsoChanges } from './use-set-up.ts';

/** What is copied to the provider, what its admin does there, and the values that come back. */
export const ProviderValues = ({
  client,
  connection,
  onBack,
  onDone,
}: StepProps & { onDone: () => void }) => {
  const { place, labels, name, addresses, steps } = providerOf(connection);
  const form = useForm({
    initialValues: {
      place: place.textOf(connection),
      client_id: connection.client_id,
      client_secret: '',
      name: connection.name,
    },
  });
  useUnsavedWork(form.isDirty());
  const check = useMutation(trpc.sso.test.mutationOptions({ onSuccess: onDone }));
  const { update, error, prompt } = useSsoChanges(({ id }) =>
    check.mutate({ id: client, connection_id: id }),
  );
  const errors = joined(fieldErrors(error));
  const unread =
    check.error && `The service cannot read this provider. Check this value. ${messageOf(check.error)}`;
  const submit = ({ place: text, client_secret: secret, ...values }: typeof form.values): void => {
    check.reset();
    const changes: Omit<Inputs['sso']['update'], 'id' | 'connection_id'> = {
      ...values,
      ...place.fieldsOf(text),
      ...(secret !== '' && { client_secret: secret }),
    };
    update.mutate({ id: client, connection_id: connection.id, ...changes });
  };
  return (
    <form onSubmit={form.onSubmit(submit)}>
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl" verticalSpacing="lg">
        <Stack gap="sm">
          <Title order={3} size="h4">
            Copy these addresses
          </Title>
          {addresses.map(([field, label]) => (
            <SecretField key={field} label={label} value={connection[field]} isSecondary />
          ))}
          <Title order={3} size="h4" mt="sm">
            What the admin of {name === 'Other provider' ? 'the provider' : name} does
          </Title>
          <List type="ordered" spacing="xs">
            {steps.map((text) => (
              <List.Item key={text}>{text}</List.Item>
            ))}
          </List>
        </Stack>
        <Stack gap="sm">
          <Title order={3} size="h4">
            Enter what {name === 'Other provider' ? 'the provider' : name} shows
          </Title>
          <TextInput
            label={place.label}
            description={place.description}
            placeholder={place.placeholder}
            required
            maxLength={2048}
            {...form.getInputProps('place')}
            error={errors.issuer ?? errors.required_value ?? unread}
          />
          <TextInput
            label={labels.id}
            required
            maxLength={255}
            {...form.getInputProps('client_id')}
            error={errors.client_id}
          />
          <PasswordInput
            label={labels.secret}
            description={connection.has_secret ? 'Leave empty to keep the current one.' : undefined}
            autoComplete="off"
            maxLength={1024}
            {...form.getInputProps('client_secret')}
            error={errors.client_secret}
          />
          <TextInput
            label="Name on the login page"
            required
            maxLength={100}
            {...form.getInputProps('name')}
            error={errors.name}
          />
          {Object.keys(errors).length === 0 && <ProblemAlert error={error} />}
        </Stack>
      </SimpleGrid>
      <SetUpButtons onBack={onBack}>
        <Button type="submit" loading={update.isPending || check.isPending}>
          Save and check
        </Button>
      </SetUpButtons>
      {prompt}
    </form>
  );
};
