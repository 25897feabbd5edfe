import { Badge, Button, Group, Stack, Table, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { SCOPES } from '../../../src/services/access/action-scopes.ts';
import { type Outputs, steward, trpc } from '../api.ts';
import { DateText } from './date-text.tsx';
import { Dialog, DialogButtons } from './dialog.tsx';
import { usePasswordConfirmation, withoutConfirmation } from './password-confirmation.tsx';
import { ProblemAlert } from './problem-alert.tsx';
import { notify } from './toasts.ts';
import { labelOf, type Token } from './token-table.tsx';

type Scope = (typeof SCOPES)[number];

type Owner = {
  /** The service account of the token; undefined: it is a token of the user. */
  account?: Pick<Outputs['serviceAccounts']['get'], 'id' | 'scopes'> | undefined;
};

type Props = Owner & {
  /** Null: closed. */
  token: Token | null;
  onClose: () => void;
};

/** Shows what a token was used for, and narrows it to that. */
export const TokenUses = ({ token, account, onClose }: Props) => (
  <Dialog
    isOpen={token !== null}
    onClose={onClose}
    title={token ? `What ${labelOf(token)} was used for` : ''}
    size="lg"
  >
    {token && <Uses key={token.id} token={token} account={account} onClose={onClose} />}
  </Dialog>
);

const Uses = ({ token, account, onClose }: Owner & { token: Token; onClose: () => void }) => {
  const [isNarrowing, setNarrowing] = useState(false);
  const uses = useUses(token, account);
  const { narrow, prompt } = useNarrowing(token, account, onClose);
  const used = new Set(uses.data?.map(({ scope }) => scope));
  const kept = SCOPES.filter(
    (scope) =>
      used.has(scope) &&
      [token.scopes, account?.scopes].every((held) => !held || held.some((one) => one === scope)),
  );
  const isNarrow = kept.length === token.scopes?.length;
  return (
    <Stack>
      <ProblemAlert error={uses.error ?? withoutConfirmation(narrow.error)} />
      {isNarrowing ? (
        <>
          <Text>It will still be able to do this, and nothing else:</Text>
          <Group gap="xs">
            {kept.map((scope) => (
              <Badge key={scope} variant="default" tt="none">
                {scope}
              </Badge>
            ))}
          </Group>
          <Text c="dimmed" size="sm">
            This leaves out calls that it makes less than once in 90 days. You cannot widen it again.
          </Text>
          <DialogButtons
            action="Narrow"
            onAction={() => narrow.mutate(kept)}
            onClose={() => setNarrowing(false)}
            isPending={narrow.isPending}
          />
        </>
      ) : (
        <>
          {uses.data && <UseTable uses={uses.data} />}
          {isNarrow && <Text c="dimmed">It may do only what it uses.</Text>}
          {kept.length > 0 && !isNarrow && (
            <Button style={{ alignSelf: 'end' }} onClick={() => setNarrowing(true)}>
              Narrow to what it uses
            </Button>
          )}
        </>
      )}
      {prompt}
    </Stack>
  );
};

const UseTable = ({ uses }: { uses: Outputs['tokens']['uses'] }) =>
  uses.length === 0 ? (
    <Text c="dimmed">Nothing in the last 90 days.</Text>
  ) : (
    <Table.ScrollContainer
      minWidth="24rem"
      maxHeight="24rem"
      // Scrolled by the keyboard, too.
      scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}
    >
      <Table stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Procedure</Table.Th>
            <Table.Th>Needs</Table.Th>
            <Table.Th>Last used</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {uses.map(({ procedure, scope, last_used_at: date }) => (
            <Table.Tr key={`${procedure} ${scope}`}>
              <Table.Td>{procedure}</Table.Td>
              <Table.Td>{scope}</Table.Td>
              <Table.Td>
                <DateText date={date} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );

const useUses = ({ id }: Token, account: Owner['account']) => {
  // It may have been used since.
  const options = (isEnabled: boolean) => ({ enabled: isEnabled, staleTime: 0 });
  const own = useQuery(trpc.tokens.uses.queryOptions({ id }, options(!account)));
  const input = { id: account?.id ?? 0, token_id: id };
  const ofAccount = useQuery(trpc.serviceAccounts.tokenUses.queryOptions(input, options(!!account)));
  return account ? ofAccount : own;
};

const useNarrowing = ({ id }: Token, account: Owner['account'], onDone: () => void) => {
  const queryClient = useQueryClient();
  const { onError, prompt } = usePasswordConfirmation();
  const narrow = useMutation({
    mutationFn: (scopes: Scope[]) =>
      account
        ? steward.api.serviceAccounts.narrowToken.mutate({ id: account.id, token_id: id, scopes })
        : steward.api.tokens.narrow.mutate({ id, scopes }),
    onSuccess: () => {
      for (const router of [trpc.tokens, trpc.serviceAccounts, trpc.audit])
        void queryClient.invalidateQueries(router.pathFilter());
      notify('Token narrowed.');
      onDone();
    },
    onError: (error, scopes) => onError(error, () => narrow.mutate(scopes)),
  });
  return { narrow, prompt };
};
