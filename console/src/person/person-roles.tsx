import { Skeleton, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { capitalized } from '../components/detail-words.ts';
import { NamedSwitch } from '../components/flag-field.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { GLOBAL_ROLES, roleLabel } from '../layout/roles.ts';
import { roleSentence } from '../roles/role-words.ts';

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
        GLOBAL_ROLES.toReversed().map((role) => (
          <NamedSwitch
            key={role.name}
            label={capitalized(roleLabel(role))}
            description={roleSentence(role)}
            disabled={update.isPending}
            checked={roles.data[role.column]}
            onChange={({ currentTarget: { checked } }) => update.mutate({ email, [role.column]: checked })}
          />
        ))}
      <Text size="sm" c="dimmed">
        Roles in a single client are under Access, beside the client.
      </Text>
      {prompt}
    </Stack>
  );
};
