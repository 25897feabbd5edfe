import { Button, Group, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RemoveButton } from '../components/remove-button.tsx';
import { notify } from '../components/toasts.ts';
import { useSession } from '../layout/use-session.ts';
import { nameOf } from '../people/name-of.ts';
import type { Client } from './use-client-form.ts';

const MAX_SHOWN = 200;

/** The people who administer the client. Only superusers appoint them. */
export const ClientAdmins = ({ client: { id } }: { client: Client }) => {
  const isSuperuser = useSession().roles.is_superuser;
  const queryClient = useQueryClient();
  const members = useQuery(
    trpc.users.list.queryOptions({ client: id, role: 'client-admin', limit: MAX_SHOWN }),
  );
  const form = useForm({ initialValues: { email: '' } });
  const { onError, prompt } = usePasswordConfirmation();
  const change = useMutation(
    trpc.roles.setClientAdmin.mutationOptions({
      onSuccess: async (user, { is_admin }) => {
        await queryClient.invalidateQueries(trpc.users.pathFilter());
        form.reset();
        const now = is_admin ? 'now administers' : 'no longer administers';
        notify(`${user.email} ${now} this client.`);
      },
      onError: (error, input) => onError(error, () => change.mutate(input)),
    }),
  );
  const admins = members.data?.filter(({ clientadmin_of }) => clientadmin_of.includes(id)) ?? [];
  return (
    <Stack className="card">
      <Text c="dimmed">
        Admins change the people, apps and texts of the client, and may open all of its apps. Only superusers
        appoint them.
      </Text>
      <ProblemAlert error={members.error ?? withoutConfirmation(change.error)} />
      {members.isPending && <Skeleton height={80} />}
      {members.isSuccess && admins.length === 0 && (
        <Text c="dimmed">
          No one administers this client.{' '}
          {isSuperuser ? 'Appoint a member below.' : 'A superuser can appoint a member.'}
        </Text>
      )}
      {admins.map((person) => (
        <Group key={person.email} justify="space-between">
          <Link className="text-link" to="/people/$email" params={{ email: person.email }}>
            {nameOf(person)}
          </Link>
          {isSuperuser && (
            <RemoveButton
              label={`Remove ${person.email}`}
              onClick={() => change.mutate({ id, email: person.email, is_admin: false })}
            />
          )}
        </Group>
      ))}
      {isSuperuser && (
        <form onSubmit={form.onSubmit(({ email }) => change.mutate({ id, email, is_admin: true }))}>
          <Group align="flex-end">
            <TextInput
              type="email"
              label="Email address of a member"
              required
              {...form.getInputProps('email')}
            />
            <Button type="submit" loading={change.isPending}>
              Make admin
            </Button>
          </Group>
        </form>
      )}
      {prompt}
    </Stack>
  );
};
