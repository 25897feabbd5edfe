import { Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { steward, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { TokenForm } from '../components/token-form.tsx';
import { labelOf, type Token, TokenTable } from '../components/token-table.tsx';
import { TokenUses } from '../components/token-uses.tsx';

const PAGE_SIZE = 50;

/** API tokens: named ones, for scripts, and those that logins created. */
export const Tokens = () => {
  const queryClient = useQueryClient();
  const [toRevoke, setToRevoke] = useState<Token | null>(null);
  const [shown, setShown] = useState<Token | null>(null);
  const tokens = useInfiniteQuery(
    trpc.tokens.list.infiniteQueryOptions(
      { limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const refresh = (): void => {
    void queryClient.invalidateQueries(trpc.tokens.list.pathFilter());
    void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
  };
  const revoke = useMutation(
    trpc.tokens.revoke.mutationOptions({
      onSuccess: () => {
        refresh();
        notify('Token revoked.');
      },
    }),
  );
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        API tokens
      </Title>
      <Text c="dimmed">A token gives a script your access, or less.</Text>
      <TokenForm
        owner="you"
        create={(input, context) => steward.api.tokens.createNamed.mutate(input, { context })}
        onCreated={refresh}
      />
      <ProblemAlert error={revoke.error} />
      <TokenTable
        pages={tokens}
        onRevoke={setToRevoke}
        onShowUses={setShown}
        empty={<EmptyState title="No tokens">Name one above to create it.</EmptyState>}
      />
      <TokenUses token={shown} onClose={() => setShown(null)} />
      <ConfirmModal
        isOpen={toRevoke !== null}
        title="Revoke the token?"
        action="Revoke"
        onConfirm={() => toRevoke && revoke.mutate({ id: toRevoke.id })}
        onClose={() => setToRevoke(null)}
      >
        Programs that use {toRevoke && labelOf(toRevoke)} lose their access.
      </ConfirmModal>
    </Stack>
  );
};
