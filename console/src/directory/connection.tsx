import { Alert, Button, Collapse, Group, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { timeText } from '../components/date-text.tsx';
import { DisclosureButton } from '../components/disclosure-button.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { StatusText } from '../components/status-text.tsx';
import { notify } from '../components/toasts.ts';
import { labelOf, type Token, TokenTable } from '../components/token-table.tsx';
import { SetupSteps } from './setup-steps.tsx';
import type { Directory } from './use-directory.ts';
import type { NewToken } from './use-new-token.ts';

const PAGE_SIZE = 50;

type Account = Outputs['serviceAccounts']['list'][number];
type Props = { directory: Directory; accounts: readonly Account[]; token: NewToken };

/** Where a directory sends its requests, and by which tokens. */
export const Connection = ({ directory, accounts, token }: Props) => {
  const { address, last_request_at: lastRequest } = directory;
  return (
    <Stack className="card" component="section" aria-labelledby="directory-connection">
      <Group justify="space-between">
        <Title order={2} size="h3" id="directory-connection">
          Connection
        </Title>
        {lastRequest ? (
          <StatusText label={`Last request: ${timeText(lastRequest)}`} color="green" />
        ) : (
          <StatusText label="No request of the directory yet" color="yellow" />
        )}
      </Group>
      <Stack maw="40rem">
        <SecretField label="Address" value={address} isSecondary={token.made === undefined} />
        {token.made !== undefined && <MadeToken token={token.made} onDone={token.forget} />}
      </Stack>
      <Steps key={String(token.made !== undefined)} isOpen={token.made !== undefined || !lastRequest} />
      {accounts.map((account) => (
        <Tokens key={account.id} account={account} />
      ))}
      <ProblemAlert error={token.error} />
      <div>
        <Button variant="default" loading={token.isPending} onClick={token.create}>
          New token
        </Button>
      </div>
    </Stack>
  );
};

const MadeToken = ({ token, onDone }: { token: string; onDone: () => void }) => (
  <>
    <Alert color="orange" variant="light">
      Copy the token now. It is not shown again.
    </Alert>
    <SecretField label="Token" value={token} />
    <div>
      <Button variant="default" size="compact-sm" onClick={onDone}>
        I have entered it
      </Button>
    </div>
  </>
);

const Steps = ({ isOpen: isOpenAtFirst }: { isOpen: boolean }) => {
  const [isOpen, { toggle }] = useDisclosure(isOpenAtFirst);
  return (
    <div>
      <DisclosureButton isOpen={isOpen} onToggle={toggle}>
        What to enter in the directory
      </DisclosureButton>
      <Collapse expanded={isOpen} keepMounted={false}>
        {isOpen && (
          <Stack pt="sm" maw="48rem">
            <SetupSteps />
          </Stack>
        )}
      </Collapse>
    </div>
  );
};

const Tokens = ({ account: { id, name, is_active: isActive } }: { account: Account }) => {
  const queryClient = useQueryClient();
  const [toRevoke, setToRevoke] = useState<Token | null>(null);
  const tokens = useInfiniteQuery(
    trpc.serviceAccounts.tokens.infiniteQueryOptions(
      { id, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const revoke = useMutation(
    trpc.serviceAccounts.revokeToken.mutationOptions({
      onSuccess: () => {
        for (const router of [trpc.serviceAccounts, trpc.audit])
          void queryClient.invalidateQueries(router.pathFilter());
        notify('Token revoked.');
      },
    }),
  );
  return (
    <Stack gap="xs">
      <Text size="sm">
        Tokens of the service account{' '}
        <Link className="text-link" to="/service-accounts/$id" params={{ id: String(id) }}>
          {name}
        </Link>
        {!isActive && ', which is inactive: all of its requests are refused'}
      </Text>
      <ProblemAlert error={revoke.error} />
      <TokenTable
        pages={tokens}
        onRevoke={setToRevoke}
        empty={<Text c="dimmed">Without a token, the directory can change nothing.</Text>}
      />
      <ConfirmModal
        isOpen={toRevoke !== null}
        title="Revoke the token?"
        action="Revoke"
        isDanger
        onConfirm={() => toRevoke && revoke.mutate({ id, token_id: toRevoke.id })}
        onClose={() => setToRevoke(null)}
      >
        <Text>
          The directory that uses “{toRevoke && labelOf(toRevoke)}” can change nothing any more. All people
          stay as they are.
        </Text>
      </ConfirmModal>
    </Stack>
  );
};
