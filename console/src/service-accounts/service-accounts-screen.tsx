import { Button, Group, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import type { Column } from '../components/column.ts';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { StatusText } from '../components/status-text.tsx';
import { RoleBadges } from '../roles/role-badges.tsx';
import { ServiceAccountDialog } from './service-account-dialog.tsx';
import { rolesOf, type ServiceAccount, stateOf } from './use-service-account.ts';

const route = getRouteApi('/service-accounts');

const PAGE_SIZE = 50;

/** The service accounts of all clients that the user may configure; for superusers, also those of the installation. */
export const ServiceAccountsScreen = () => {
  const { client } = route.useSearch();
  const [isCreating, { open, close }] = useDisclosure();
  return (
    <>
      <ScreenHeader
        title="Service accounts"
        lead="Accounts for programs. They have roles, and use tokens."
        actions={<Button onClick={open}>New service account</Button>}
      />
      <FilterBar>{null}</FilterBar>
      <AccountList client={client} hasClients={client === undefined} onCreate={open} />
      <NewAccount client={client} isOpen={isCreating} onClose={close} />
    </>
  );
};

/** The service accounts of a client, for those who may configure it. */
export const ServiceAccounts = ({ client }: { client: number }) => {
  const hasSome = (useAccounts(client).data?.pages[0] ?? []).length > 0;
  const [isCreating, { open, close }] = useDisclosure();
  return (
    <Stack>
      {hasSome && (
        <Group justify="flex-end">
          <Button onClick={open}>New service account</Button>
        </Group>
      )}
      <AccountList client={client} hasClients={false} onCreate={open} />
      <NewAccount client={client} isOpen={isCreating} onClose={close} />
    </Stack>
  );
};

const useAccounts = (client: number | undefined) =>
  useInfiniteQuery(
    trpc.serviceAccounts.list.infiniteQueryOptions(
      { client, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        placeholderData: keepPreviousData,
      },
    ),
  );

type ListProps = {
  client: number | undefined;
  /** Whether the accounts may belong to several clients. */
  hasClients: boolean;
  onCreate: () => void;
};

const AccountList = ({ client, hasClients, onCreate }: ListProps) => {
  const nameOfClient = useClientName();
  return (
    <PagedTable
      label="Service accounts"
      columns={columnsOf(hasClients ? nameOfClient : undefined)}
      pages={useAccounts(client)}
      keyOf={({ id }) => id}
      empty={
        <EmptyState
          title="No service accounts yet"
          action={
            <Button variant="default" onClick={onCreate}>
              Create a service account
            </Button>
          }
        >
          A program with its own account keeps working when a person leaves, and can do only what it needs.
        </EmptyState>
      }
    />
  );
};

type NewProps = { client: number | undefined; isOpen: boolean; onClose: () => void };

const NewAccount = (props: NewProps) => {
  const navigate = useNavigate();
  return (
    <ServiceAccountDialog
      {...props}
      onCreated={({ id }) => void navigate({ to: '/service-accounts/$id', params: { id: String(id) } })}
    />
  );
};

const columnsOf = (nameOfClient: ((id: number | null) => string) | undefined): Column<ServiceAccount>[] => [
  {
    heading: 'Name',
    width: 'minmax(12rem, 2fr)',
    cell: ({ id, name, description }) => (
      <Link
        className="text-link"
        to="/service-accounts/$id"
        params={{ id: String(id) }}
        title={description || name}
      >
        {name}
      </Link>
    ),
  },
  ...(nameOfClient
    ? [
        {
          heading: 'Client',
          width: '1.2fr',
          cell: ({ client }: ServiceAccount) => nameOfClient(client) || 'The installation',
        },
      ]
    : []),
  {
    heading: 'Roles',
    width: '1.5fr',
    cell: (account) => (account.roles.length === 0 ? 'None' : <RoleBadges roles={rolesOf(account)} />),
  },
  {
    heading: 'State',
    width: '7rem',
    onPhone: 'corner',
    cell: (account) => <StatusText {...stateOf(account)} />,
  },
  { heading: 'Last used', width: '10rem', cell: ({ last_used: date }) => <DateText date={date} /> },
];
