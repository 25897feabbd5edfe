import { Skeleton, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { NamedSwitch } from '../components/flag-field.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';

const ROLES = [
  ['is_staff', 'Staff', 'Sees all clients, and fetches and loads apps.'],
  ['is_superuser', 'Superuser', 'Sees and changes everything.'],
] as const;

/** The roles that only superusers grant. */
export const PersonRoles = ({ email }: { email: string }) => {
  const queryClient = useQueryClient();
  const roles = useQuery(trpc.roles.get.queryOptions({ email }));
  const { onError, prompt } = usePasswordConfirmation();
  const update = useMutation(
    trpc.roles.update.mutationOptions({
      onSuccess: () => notify('Saved.'),
      onError: (error, input) => onError(error, () => update.mutate(input)),
      onSettled: () =>
        Promise.all([
          queryClient.invalidateQueries(trpc.roles.pathFilter()),
          queryClient.invalidateQueries(trpc.audit.pathFilter()),
        ]),
    }),
  );
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        Roles
      </Title>
      <ProblemAlert error={roles.error ?? withoutConfirmation(update.error)} />
      {roles.isPending && <Skeleton height={100} />}
      {roles.data &&
        ROLES.map(([role, label, description]) => (
          <NamedSwitch
            key={role}
            label={label}
            description={description}
            disabled={update.isPending}
            checked={roles.data[role]}
            onChange={({ currentTarget: { checked } }) => update.mutate({ email, [role]: checked })}
          />
        ))}
      <Text size="sm" c="dimmed">
        Client admins are appointed on the screen of their client.
      </Text>
      {prompt}
    </Stack>
  );
};
