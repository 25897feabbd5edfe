import { useMutation, useQueryClient } from '@tanstack/react-query';
import { steward, trpc } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import { notify } from '../components/toasts.ts';

type Fetch = {
  /** Empty: the highest version that is not a prerelease. */
  version: string;
  /** A retry of the fetch has the same key. */
  idempotencyKey: string;
};

/** Fetches, loads and rolls back the package of an app. */
export const usePackageChanges = ({ slug }: App) => {
  const queryClient = useQueryClient();
  const onSuccess = (message: string): void => {
    void queryClient.invalidateQueries(trpc.apps.pathFilter());
    void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
    notify(message);
  };
  return {
    fetch: useMutation({
      mutationFn: ({ version, idempotencyKey }: Fetch) =>
        steward.api.appPackages.fetch.mutate(
          { app_slug: slug, app_version: version },
          { context: { idempotencyKey } },
        ),
      onSuccess: () => onSuccess('Fetched. Load it to apply it.'),
    }),
    load: useMutation(trpc.appPackages.load.mutationOptions({ onSuccess: () => onSuccess('Loaded.') })),
    rollback: useMutation(
      trpc.apps.rollback.mutationOptions({ onSuccess: ({ message }) => onSuccess(`${message}.`) }),
    ),
  };
};
