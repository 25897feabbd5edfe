import { Button, Group, Menu, Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useMutation, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { steward, trpc } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { DateText, dateOf } from '../components/date-text.tsx';
import { type Fact, FactList } from '../components/fact-list.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { StatusText } from '../components/status-text.tsx';
import { TokenForm } from '../components/token-form.tsx';
import { labelOf, type Token, TokenTable } from '../components/token-table.tsx';
import { RoleBadges } from '../roles/role-badges.tsx';
import { ServiceAccountDialog } from './service-account-dialog.tsx';
import {
  rolesOf,
  type ServiceAccount,
  stateOf,
  useServiceAccount,
  useServiceAccountRefresh,
} from './use-service-account.ts';

const route = getRouteApi('/service-accounts/$id');

type Opened = 'edit' | 'deactivate' | 'remove' | null;

/** A service account, with its tokens. */
export const ServiceAccountScreen = () => {
  const id = Number(route.useParams().id);
  const account = useSuspenseQuery(trpc.serviceAccounts.get.queryOptions({ id })).data;
  const [opened, setOpened] = useState<Opened>(null);
  const { setActive, remove, error, prompt } = useServiceAccount(account);
  const close = (): void => setOpened(null);
  const { name, description, address, client, is_active: isActive } = account;
  return (
    <>
      <ScreenHeader
        title={name}
        lead={
          <Group component="span" gap="sm">
            {description && <span className="break-words">{description}</span>}
            <StatusText {...stateOf(account)} />
          </Group>
        }
        actions={
          <Button variant="default" onClick={() => setOpened('edit')}>
            Edit
          </Button>
        }
        menu={
          <>
            <Menu.Item onClick={() => (isActive ? setOpened('deactivate') : setActive(true))}>
              {isActive ? 'Deactivate…' : 'Activate'}
            </Menu.Item>
            <Menu.Item
              renderRoot={(item) => (
                <Link {...item} to="/audit" search={{ actor: address, ...(client !== null && { client }) }} />
              )}
            >
              History
            </Menu.Item>
            <Menu.Item color="red" onClick={() => setOpened('remove')}>
              Remove…
            </Menu.Item>
          </>
        }
      />
      <ProblemAlert error={error} />
      <Facts account={account} />
      <ServiceAccountTokens id={id} />
      {prompt}
      <ServiceAccountDialog account={account} isOpen={opened === 'edit'} onClose={close} />
      <ConfirmModal
        isOpen={opened === 'deactivate'}
        title="Deactivate the service account?"
        action="Deactivate"
        onConfirm={() => setActive(false)}
        onClose={close}
      >
        All its tokens stop working until you activate it again.
      </ConfirmModal>
      <ConfirmModal
        isOpen={opened === 'remove'}
        title="Remove the service account?"
        action="Remove"
        isDanger
        onConfirm={remove}
        onClose={close}
      >
        All of its tokens end. The audit trail keeps its name.
      </ConfirmModal>
    </>
  );
};

const Facts = ({ account }: { account: ServiceAccount }) => {
  const nameOfClient = useClientName();
  const { client, roles, scopes, address, last_used, created_at, created_by } = account;
  const facts: Fact[] = [
    ['Client', nameOfClient(client) || 'The installation'],
    [
      'Roles',
      roles.length === 0 ? (
        'None'
      ) : (
        <Group key="roles" component="span" gap={6}>
          <RoleBadges roles={rolesOf(account)} />
        </Group>
      ),
    ],
    ['Scopes', scopes?.join(', ') ?? 'All that its roles allow'],
    ['Last used', <DateText key="used" date={last_used} />],
    ['Created', `${dateOf(created_at)}${created_by === null ? '' : ` by ${created_by}`}`],
    ['In the audit trail', address],
  ];
  return <FactList facts={facts} mb="md" />;
};

const PAGE_SIZE = 50;

/** The tokens by which a service account acts. */
const ServiceAccountTokens = ({ id }: { id: number }) => {
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
          <Text c="dimmed">
            Without a token, the account cannot do anything. Name one above to create it.
          </Text>
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
