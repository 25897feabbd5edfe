import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';

export type Directory = Outputs['directory']['get'];
export type PersonRow = Outputs['directory']['listPeople'][number];
export type GroupRow = Outputs['directory']['listGroups'][number];
export type PersonChange = NonNullable<PersonRow['change']>;
export type GroupChange = NonNullable<GroupRow['change']>;

/** Requests that change nothing here cause no event. */
const REFRESH_MS = 10_000;
/** While an admin waits. */
const REFRESH_SOON_MS = 2_000;

/** The directory of a client, read again and again while it is shown. Lists of it follow. */
export const useDirectory = (client: number, isShown: boolean) => {
  const queryClient = useQueryClient();
  const directory = useQuery(
    trpc.directory.get.queryOptions(
      { id: client },
      {
        enabled: isShown,
        refetchInterval: ({ state: { data } }) =>
          data && (data.due > 0 || !data.last_request_at) ? REFRESH_SOON_MS : REFRESH_MS,
      },
    ),
  );
  const { last_request_at: lastRequest, ...counts } = directory.data ?? {};
  const seen = JSON.stringify([lastRequest, counts]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a difference makes the lists stale
  useEffect(() => {
    for (const list of [
      trpc.directory.listPeople,
      trpc.directory.listGroups,
      trpc.directory.listHeld,
      trpc.directory.requests,
    ])
      void queryClient.invalidateQueries(list.pathFilter(), { cancelRefetch: false });
  }, [queryClient, seen]);
  return directory;
};

/** Refreshes the queries that show the directory. */
export const useDirectoryRefresh = () => {
  const queryClient = useQueryClient();
  return (): void => {
    for (const router of [trpc.directory, trpc.audit])
      void queryClient.invalidateQueries(router.pathFilter());
  };
};

/** Changes the mode of a directory. */
export const useModeChange = (client: number, onDone: () => void) => {
  const refresh = useDirectoryRefresh();
  const { onError, prompt } = usePasswordConfirmation();
  const update = useMutation(
    trpc.directory.update.mutationOptions({
      onSuccess: () => {
        refresh();
        onDone();
      },
      onError: (error, input) => {
        onError(error, () => update.mutate(input));
        refresh();
      },
    }),
  );
  return {
    /** Not if by now it would end more memberships than was shown. */
    apply: ({ ends }: Directory) => update.mutate({ id: client, mode: 'apply', ends }),
    onlyShow: () => update.mutate({ id: client, mode: 'show' }),
    state: { isPending: update.isPending, error: withoutConfirmation(update.error) },
    reset: update.reset,
    prompt,
  };
};
