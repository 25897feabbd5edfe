import { Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SessionTable } from '../components/session-table.tsx';
import { notify } from '../components/toasts.ts';

const PAGE_SIZE = 50;

/** The browsers in which the user is logged in. */
export const Sessions = () => {
  const queryClient = useQueryClient();
  const sessions = useInfiniteQuery(
    trpc.sessions.list.infiniteQueryOptions(
      { limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const revoke = useMutation(
    trpc.sessions.revoke.mutationOptions({
      onSuccess: () => {
        void queryClient.invalidateQueries(trpc.sessions.list.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
        notify('Session revoked.');
      },
    }),
  );
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        Sessions
      </Title>
      <Text c="dimmed">Browsers in which you are logged in.</Text>
      <ProblemAlert error={revoke.error} />
      <SessionTable pages={sessions} onRevoke={({ id }) => revoke.mutate({ id })} />
    </Stack>
  );
};
