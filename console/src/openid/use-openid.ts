import { isProblem } from '@steward/client';
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { type Outputs, steward, trpc } from '../api.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { notify } from '../components/toasts.ts';

export type OpenidApp = Outputs['openid']['get'];

/** How an app logs people in with OpenID Connect; null if it does not. */
export const openidQuery = (appId: string) =>
  queryOptions({
    queryKey: trpc.openid.get.queryKey({ app_id: appId }) as readonly unknown[],
    queryFn: async (): Promise<OpenidApp | null> => {
      try {
        return await steward.api.openid.get.query({ app_id: appId });
      } catch (error) {
        if (isProblem(error, 'not-found')) return null;
        throw error;
      }
    },
  });

/** Refreshes the queries that show the OpenID settings of apps. */
export const useOpenidRefresh = () => {
  const queryClient = useQueryClient();
  return (): void => {
    for (const router of [trpc.openid, trpc.audit]) void queryClient.invalidateQueries(router.pathFilter());
  };
};

/** Makes a secret for an app. */
export const useNewSecret = (appId: string) => {
  const refresh = useOpenidRefresh();
  const { onError, prompt } = usePasswordConfirmation();
  const create = useMutation(
    trpc.openid.addSecret.mutationOptions({
      onSuccess: refresh,
      onError: (error, input) => onError(error, () => create.mutate(input)),
    }),
  );
  return {
    create: () => create.mutate({ app_id: appId }),
    isPending: create.isPending,
    /** Only right after it was made. */
    made: create.data,
    error: withoutConfirmation(create.error),
    prompt,
  };
};

/** Removes the OpenID settings of an app. */
export const useOpenidRemoval = (appId: string) => {
  const queryClient = useQueryClient();
  const refresh = useOpenidRefresh();
  const { onError, prompt } = usePasswordConfirmation();
  const remove = useMutation(
    trpc.openid.remove.mutationOptions({
      onSuccess: () => {
        queryClient.setQueryData(openidQuery(appId).queryKey, null);
        refresh();
        notify('The OpenID settings were removed.');
      },
      onError: (error, input) => onError(error, () => remove.mutate(input)),
    }),
  );
  return {
    remove: () => remove.mutate({ app_id: appId }),
    isPending: remove.isPending,
    error: withoutConfirmation(remove.error),
    prompt,
  };
};
