import { Badge, Button, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import type { Column } from '../components/virtual-table.tsx';
import { TokenForm } from './token-form.tsx';

type Token = Outputs['tokens']['list'][number];

const PAGE_SIZE = 50;

/** API tokens: named ones, for scripts, and those that a login created. */
export const Tokens = () => {
  const queryClient = useQueryClient();
  const [toRevoke, setToRevoke] = useState<Token | null>(null);
  const tokens = useInfiniteQuery(
    trpc.tokens.list.infiniteQueryOptions(
      { limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const revoke = useMutation(
    trpc.tokens.revoke.mutationOptions({
      onSuccess: () => {
        void queryClient.invalidateQueries(trpc.tokens.list.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
        notifications.show({ message: 'Token revoked.' });
      },
    }),
  );
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        API tokens
      </Title>
      <Text c="dimmed">A token gives a script the same access as yours.</Text>
      <TokenForm />
      <ProblemAlert error={revoke.error} />
      <PagedTable
        label="API tokens"
        columns={columnsOf(setToRevoke)}
        pages={tokens}
        keyOf={({ id }) => id}
        empty={<EmptyState title="No tokens">Name one above to create it.</EmptyState>}
      />
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

const labelOf = ({ name }: Token): string => name || 'a token of a login';

const columnsOf = (revoke: (token: Token) => void): Column<Token>[] => [
  {
    heading: 'Name',
    width: '2fr',
    cell: ({ name }) =>
      name || (
        <Badge variant="default" tt="none">
          From a login
        </Badge>
      ),
  },
  { heading: 'Created', width: '1fr', cell: ({ created_at: date }) => <DateText date={date} /> },
  { heading: 'Last used', width: '1fr', cell: ({ last_used: date }) => <DateText date={date} /> },
  { heading: 'IP address', width: '1fr', cell: ({ last_address: address }) => address },
  {
    heading: 'Revoke',
    width: '6rem',
    cell: (token) => (
      <Button
        variant="default"
        size="compact-sm"
        onClick={() => revoke(token)}
        aria-label={`Revoke ${labelOf(token)}`}
      >
        Revoke
      </Button>
    ),
  },
];
