import { Stack, Switch, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { FormButtons } from '../components/form-buttons.tsx';
import { changed, joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';

export type Person = Outputs['users']['get'];

type Props = { person: Person; isReadOnly: boolean };

export const ProfileForm = ({ person, isReadOnly }: Props) => {
  const { email, first_name, last_name, is_active, is_demo_user } = person;
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: { first_name, last_name, is_active, is_demo_user } });
  const update = useMutation(
    trpc.users.update.mutationOptions({
      onSuccess: (updated) => {
        queryClient.setQueryData(trpc.users.get.queryKey({ email }), updated);
        void queryClient.invalidateQueries(trpc.users.list.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
        form.setInitialValues(form.getValues());
        form.reset();
        notifications.show({ message: 'Saved.' });
      },
      onError: (error) => form.setErrors(joined(fieldErrors(error))),
    }),
  );
  return (
    <form
      className="card"
      aria-labelledby="profile"
      onSubmit={form.onSubmit((values) => update.mutate({ email, ...changed(values, form.isDirty) }))}
    >
      <Stack>
        <Title order={2} size="h3" id="profile">
          Profile
        </Title>
        <ProblemAlert error={update.error} />
        <TextInput label="First name" readOnly={isReadOnly} {...form.getInputProps('first_name')} />
        <TextInput label="Last name" readOnly={isReadOnly} {...form.getInputProps('last_name')} />
        <Switch
          label="Active: may log in"
          disabled={isReadOnly}
          {...form.getInputProps('is_active', { type: 'checkbox' })}
        />
        <Switch
          label="Demo user"
          disabled={isReadOnly}
          {...form.getInputProps('is_demo_user', { type: 'checkbox' })}
        />
        {!isReadOnly && (
          <FormButtons isDirty={form.isDirty()} isSaving={update.isPending} onDiscard={form.reset} />
        )}
      </Stack>
    </form>
  );
};
