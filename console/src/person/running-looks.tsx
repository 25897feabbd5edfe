import { Alert, Anchor, Button, Group } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { clockTimeOf } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

/** How often the list is read while a look runs, which ends by the clock, too. */
const REFRESH_MS = 30_000;

/** The looks at apps as this person that run now, and that the user may end. */
export const RunningLooks = ({ email }: { email: string }) => {
  const looks = useQuery(
    trpc.users.listViewAs.queryOptions(undefined, {
      refetchInterval: ({ state }) => (state.data?.length ? REFRESH_MS : false),
    }),
  );
  const end = useEndLook();
  return (
    <>
      <ProblemAlert error={end.error} />
      {looks.data
        ?.filter(({ user }) => user === email)
        .map(({ id, actor, actor_name, user_name, app_label, ends_at }) => (
          <Alert key={id} variant="light" color="yellow">
            <Group justify="space-between">
              <span>
                {actor_name || actor} is looking at {app_label} as {user_name || email}, until{' '}
                {clockTimeOf(ends_at)}. <Anchor href={`/view-as/${id}/`}>Show details</Anchor>
              </span>
              <Button variant="default" loading={end.isPending} onClick={() => end.mutate({ id })}>
                Stop viewing
              </Button>
            </Group>
          </Alert>
        ))}
    </>
  );
};

export const useEndLook = () => {
  const queryClient = useQueryClient();
  return useMutation(
    trpc.users.endViewAs.mutationOptions({
      onSuccess: () => {
        for (const filter of [trpc.users.listViewAs, trpc.profile.viewedAs, trpc.audit.list])
          void queryClient.invalidateQueries(filter.pathFilter());
      },
    }),
  );
};
