import { Button, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { type Column, VirtualTable } from '../components/virtual-table.tsx';
import { useSession } from '../layout/use-session.ts';
import { NewClient } from './new-client.tsx';

type Client = Outputs['clients']['list'][number];

const Muted = ({ children }: { children: ReactNode }) => (
  <Text span fz="inherit" c="dimmed">
    {children}
  </Text>
);

const COLUMNS: Column<Client>[] = [
  {
    heading: 'Name',
    width: '2fr',
    cell: ({ id, name }) => (
      <Link className="text-link" to="/clients/$id" params={{ id: String(id) }}>
        {name}
      </Link>
    ),
  },
  { heading: 'Site', width: '2fr', onPhone: 'plain', cell: ({ site }) => site.domain },
  {
    heading: 'Sender of mails',
    width: '2fr',
    cell: ({ default_from_email: sender }) => sender || <Muted>Service default</Muted>,
  },
  {
    heading: 'Passwords expire',
    width: '1fr',
    cell: ({ password_expiration_days: days }) => (days === 0 ? <Muted>Never</Muted> : `After ${days} days`),
  },
];

export const ClientsScreen = () => {
  const clients = useSuspenseQuery(trpc.clients.list.queryOptions({})).data;
  const { is_superuser } = useSession().roles;
  const [isCreating, { open, close }] = useDisclosure();
  return (
    <>
      <ScreenHeader
        title="Clients"
        lead="Each client has its own people, apps, texts and password policy."
        actions={is_superuser && <Button onClick={open}>New client</Button>}
      />
      {clients.length === 0 ? (
        <EmptyState title="There are no clients yet">
          {is_superuser ? 'Create the first one.' : 'A superuser creates the first one.'}
        </EmptyState>
      ) : (
        <VirtualTable
          label="Clients"
          columns={COLUMNS}
          rows={clients}
          keyOf={({ id }) => id}
          hasMore={false}
          onMore={() => {}}
        />
      )}
      <NewClient isOpen={isCreating} onClose={close} />
    </>
  );
};
