import { Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SessionTable } from '../components/session-table.tsx';
import { notify } from '../components/toasts.ts';
import { labelOf, type Token, TokenTable } from '../components/token-table.tsx';

const PAGE_SIZE = 50;

const nextOf = (page: readonly { id: number }[]): number | undefined =>
  page.length < PAGE_SIZE ? undefined : page.at(-1)?.id;

type Props = { email: string };

/** The sessions and API tokens of a person, for users who may change the person. */
export const PersonCredentials = ({ email }: Props) => {
  const sessions = useInfiniteQuery(
    trpc.sessions.listByUser.infiniteQueryOptions({ email, limit: PAGE_SIZE }, { getNextPageParam: nextOf }),
  );
  const [toRevoke, setToRevoke] = useState<Token | null>(null);
  const tokens = useInfiniteQuery(
    trpc.tokens.listByUser.infiniteQueryOptions({ email, limit: PAGE_SIZE }, { getNextPageParam: nextOf }),
  );
  const { revokeSession, revokeToken } = useRevocation();
  return (
    <>
      <Stack className="card">
        <Title order={2} size="h3">
          Sessions
        </Title>
        <ProblemAlert error={revokeSession.error} />
        <SessionTable pages={sessions} onRevoke={({ id }) => revokeSession.mutate({ email, id })} />
      </Stack>
      <Stack className="card">
        <Title order={2} size="h3">
          API tokens
        </Title>
        <ProblemAlert error={revokeToken.error} />
        <TokenTable
          pages={tokens}
          onRevoke={setToRevoke}
          empty={<Text c="dimmed">There are no API tokens.</Text>}
        />
      </Stack>
      <ConfirmModal
        isOpen={toRevoke !== null}
        title="Revoke the token?"
        action="Revoke"
        onConfirm={() => toRevoke && revokeToken.mutate({ email, id: toRevoke.id })}
        onClose={() => setToRevoke(null)}
      >
        Programs that use {toRevoke && labelOf(toRevoke)} lose their access.
      </ConfirmModal>
    </>
  );
};

const useRevocation = () => {
  const queryClient = useQueryClient();
  const report = (message: string) => () => {
    for (const router of [trpc.sessions.listByUser, trpc.tokens.listByUser, trpc.audit])
      void queryClient.invalidateQueries(router.pathFilter());
    notify(message);
  };
  return {
    revokeSession: useMutation(
      trpc.sessions.revokeForUser.mutationOptions({ onSuccess: report('Session revoked.') }),
    ),
    revokeToken: useMutation(
      trpc.tokens.revokeForUser.mutationOptions({ onSuccess: report('Token revoked.') }),
    ),
  };
};
