import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { notify } from '../components/toasts.ts';
import { ROLES } from '../session/roles.ts';

export type ServiceAccount = Outputs['serviceAccounts']['get'];

export const rolesOf = ({ roles }: ServiceAccount) => ROLES.filter(({ name }) => roles.includes(name));

export const stateOf = ({ is_active: isActive }: ServiceAccount) =>
  isActive ? ({ label: 'Active', color: 'green' } as const) : ({ label: 'Inactive', color: 'gray' } as const);

/** Refreshes the queries that show service accounts, and shows a message. */
export const useServiceAccountRefresh = () => {
  const queryClient = useQueryClient();
  return (message?: string): void => {
    for (const router of [trpc.serviceAccounts, trpc.audit])
      void queryClient.invalidateQueries(router.pathFilter());
    if (message !== undefined) notify(message);
  };
};

/** The actions of a service account's screen, apart from editing. */
export const useServiceAccount = ({ id, client }: ServiceAccount) => {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const refresh = useServiceAccountRefresh();
  const { onError, prompt } = usePasswordConfirmation();
  const update = useMutation(
    trpc.serviceAccounts.update.mutationOptions({
      onSuccess: ({ is_active: isActive }) =>
        refresh(isActive ? 'Service account activated.' : 'Service account deactivated.'),
      onError: (error, input) => onError(error, () => update.mutate(input)),
    }),
  );
  const remove = useMutation(
    trpc.serviceAccounts.remove.mutationOptions({
      onSuccess: async () => {
        // First, because the account can no longer be read.
        await navigate({ to: '/service-accounts', search: client === null ? {} : { client } });
        queryClient.removeQueries(trpc.serviceAccounts.get.queryFilter({ id }));
        queryClient.removeQueries({ queryKey: trpc.serviceAccounts.tokens.pathKey() });
        refresh('Service account removed.');
      },
      onError: (error) => onError(error, () => remove.mutate({ id })),
    }),
  );
  return {
    setActive: (isActive: boolean) => update.mutate({ id, is_active: isActive }),
    remove: () => remove.mutate({ id }),
    error: withoutConfirmation(update.error ?? remove.error),
    prompt,
  };
};
