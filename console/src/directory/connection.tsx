import {
  Alert,
  Button,
  Code,
  Collapse,
  Group,
  List,
  SegmentedControl,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ComponentType, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { timeText } from '../components/date-text.tsx';
import { DisclosureButton } from '../components/disclosure-button.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { StatusText } from '../components/status-text.tsx';
import { notify } from '../components/toasts.ts';
import { labelOf, type Token, TokenTable } from '../components/token-table.tsx';
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
          <StatusText label="No requests from the directory yet" color="yellow" />
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
        empty={<Text c="dimmed">Without a token, the directory cannot change anything.</Text>}
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
          The directory that uses “{toRevoke && labelOf(toRevoke)}” can no longer change anything. No one
          loses access.
        </Text>
      </ConfirmModal>
    </Stack>
  );
};

const PRODUCTS = ['Microsoft Entra ID', 'Okta', 'Other'] as const;
type Product = (typeof PRODUCTS)[number];

/** What to enter where, in a directory that is to be connected. */
const SetupSteps = () => {
  const [product, setProduct] = useState<Product>('Microsoft Entra ID');
  const Steps = STEPS[product];
  return (
    <Stack gap="sm" align="flex-start">
      <SegmentedControl
        aria-label="Directory"
        data={[...PRODUCTS]}
        value={product}
        onChange={(value) => setProduct(value as Product)} // one of the choices
      />
      <Steps />
    </Stack>
  );
};

const Entra = () => (
  <List type="ordered" spacing="xs">
    <List.Item>
      In the Microsoft Entra admin center, open “Enterprise applications”, “New application”, “Create your own
      application”. Name it Steward, and choose “Integrate any other application you don’t find in the
      gallery”.
    </List.Item>
    <List.Item>Open “Provisioning” of this application, and connect it.</List.Item>
    <List.Item>
      Enter the address as <b>Tenant URL</b>, and the token as <b>Secret Token</b>.
    </List.Item>
    <List.Item>
      Press <b>Test Connection</b>, then save.
    </List.Item>
    <List.Item>Under “Users and groups”, choose who belongs to this client.</List.Item>
    <List.Item>
      Under “Provisioning”, start it. Microsoft Entra ID sends changes about every 40 minutes.
    </List.Item>
  </List>
);

const Okta = () => (
  <List type="ordered" spacing="xs">
    <List.Item>
      In the Okta Admin Console, open “Applications” and the application of Steward, or create one. Under
      “General”, turn SCIM provisioning on.
    </List.Item>
    <List.Item>
      Under “Provisioning”, “Integration”, enter the address as <b>Base URL</b>, and <Code>userName</Code> as{' '}
      <b>Unique identifier field for users</b>.
    </List.Item>
    <List.Item>
      Choose “Push New Users”, “Push Profile Updates” and “Push Groups”, the authentication mode{' '}
      <b>HTTP Header</b>, and enter the token.
    </List.Item>
    <List.Item>
      Press <b>Test Connector Configuration</b>, then save.
    </List.Item>
    <List.Item>
      Under “To App”, turn on “Create Users”, “Update User Attributes” and “Deactivate Users”.
    </List.Item>
    <List.Item>Under “Assignments” and “Push Groups”, choose who belongs to this client.</List.Item>
  </List>
);

const Other = () => (
  <List type="ordered" spacing="xs">
    <List.Item>In your directory, add an application with provisioning by SCIM 2.0.</List.Item>
    <List.Item>
      Enter the address as its <b>base URL</b>, and the token as <b>bearer token</b>, in the header{' '}
      <Code>Authorization</Code>.
    </List.Item>
    <List.Item>
      Choose <Code>userName</Code> as the attribute that identifies a person.
    </List.Item>
    <List.Item>Test the connection, choose who belongs to this client, and start it.</List.Item>
  </List>
);

const STEPS: Record<Product, ComponentType> = {
  'Microsoft Entra ID': Entra,
  Okta,
  Other,
};
