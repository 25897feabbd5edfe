import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { notify } from '../components/toasts.ts';
import type { Webhook } from './webhook-state.tsx';

/** Refreshes the queries that show webhooks, and shows a message. */
export const useWebhookRefresh = () => {
  const queryClient = useQueryClient();
  return (message?: string): void => {
    for (const router of [trpc.webhooks, trpc.audit]) void queryClient.invalidateQueries(router.pathFilter());
    if (message !== undefined) notify(message);
  };
};

/** The actions of a webhook's screen, apart from editing and replaying. */
export const useWebhookChanges = ({ id, client }: Webhook) => {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const refresh = useWebhookRefresh();
  const { onError, prompt } = usePasswordConfirmation();
  const update = useMutation(
    trpc.webhooks.update.mutationOptions({
      onSuccess: ({ is_active: isActive }) =>
        refresh(isActive ? 'Webhook activated.' : 'Webhook deactivated.'),
      onError: (error, input) => onError(error, () => update.mutate(input)),
    }),
  );
  const rotate = useMutation(
    trpc.webhooks.rotateSecret.mutationOptions({
      onSuccess: () => refresh(),
      onError: (error) => onError(error, () => rotate.mutate({ id })),
    }),
  );
  const remove = useMutation(
    trpc.webhooks.remove.mutationOptions({
      onSuccess: async () => {
        // First, because the webhook can no longer be read.
        await navigate({ to: '/webhooks', search: client === null ? {} : { client } });
        queryClient.removeQueries(trpc.webhooks.get.queryFilter({ id }));
        refresh('Webhook removed.');
      },
      onError: (error) => onError(error, () => remove.mutate({ id })),
    }),
  );
  const test = useMutation(trpc.webhooks.test.mutationOptions({ onSuccess: () => refresh() }));
  return {
    setActive: (isActive: boolean) => update.mutate({ id, is_active: isActive }),
    isUpdating: update.isPending,
    rotate,
    remove: () => remove.mutate({ id }),
    test,
    error: withoutConfirmation(update.error ?? rotate.error ?? remove.error ?? test.error),
    prompt,
  };
};
