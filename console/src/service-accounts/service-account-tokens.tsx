import { Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { steward, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { TokenForm } from '../components/token-form.tsx';
import { labelOf, type Token, TokenTable } from '../components/token-table.tsx';
import { useServiceAccountRefresh } from './use-service-account.ts';

const PAGE_SIZE = 50;

/** The tokens by which a service account acts. */
export const ServiceAccountTokens = ({ id }: { id: number }) => {
  const refresh = useServiceAccountRefresh();
  const [toRevoke, setToRevoke] = useState<Token | null>(null);
  const tokens = useInfiniteQuery(
    trpc.serviceAccounts.tokens.infiniteQueryOptions(
      { id, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const revoke = useMutation(
    trpc.serviceAccounts.revokeToken.mutationOptions({ onSuccess: () => refresh('Token revoked.') }),
  );
  return (
    <Stack className="card" component="section" aria-labelledby="tokens">
      <Title order={2} size="h3" id="tokens">
        Tokens
      </Title>
      <TokenForm
        owner="the account"
        create={(input, context) =>
          steward.api.serviceAccounts.createToken.mutate({ id, ...input }, { context })
        }
        onCreated={refresh}
      />
      <ProblemAlert error={revoke.error} />
      <TokenTable
        pages={tokens}
        onRevoke={setToRevoke}
        empty={
          <Text c="dimmed">Without a token, the account can do nothing. Name one above to create it.</Text>
        }
      />
      <ConfirmModal
        isOpen={toRevoke !== null}
        title="Revoke the token?"
        action="Revoke"
        onConfirm={() => toRevoke && revoke.mutate({ id, token_id: toRevoke.id })}
        onClose={() => setToRevoke(null)}
      >
        Programs that use {toRevoke && labelOf(toRevoke)} lose their access.
      </ConfirmModal>
    </Stack>
  );
};
