import { Button, Group, Menu, Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ROW_MENU_COLUMN, RowMenu } from '../components/row-menu.tsx';
import type { Column } from '../components/virtual-table.tsx';
import { mayDo, membershipRoles } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { nameOf } from '../people/name-of.ts';
import { RoleBadges } from '../roles/role-badges.tsx';
import { RolesDialog } from '../roles/roles-dialog.tsx';
import type { Client } from './use-client-form.ts';

type Holder = Outputs['roles']['listInClient'][number];

const PAGE_SIZE = 50;

/** The people with a role in the client. Its admins give the others. */
export const ClientRoles = ({ client: { id, name } }: { client: Client }) => {
  const { roles, user } = useSession();
  const holders = useInfiniteQuery(
    trpc.roles.listInClient.infiniteQueryOptions(
      { id, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.email) },
    ),
  );
  const mayChange = mayDo(roles, 'configure', id);
  const [opened, setOpened] = useState<{ holder: Holder | null }>();
  return (
    <Stack>
      <Group justify="space-between">
        <Text c="dimmed">
          A role lets a member see and change a part of the client. Members without one open their apps.
        </Text>
        {mayChange && <Button onClick={() => setOpened({ holder: null })}>Give roles</Button>}
      </Group>
      <PagedTable
        label="People with a role"
        columns={columnsOf(mayChange ? ({ email }) => email !== user.email : () => false, (holder) =>
          setOpened({ holder }),
        )}
        pages={holders}
        keyOf={({ email }) => email}
        empty={
          <EmptyState title="No one has a role in this client">A superuser can appoint an admin.</EmptyState>
        }
      />
      <RolesDialog
        isOpen={opened !== undefined}
        client={{ id, name }}
        holder={opened?.holder ?? null}
        onClose={() => setOpened(undefined)}
      />
    </Stack>
  );
};

const columnsOf = (
  isChangeable: (holder: Holder) => boolean,
  change: (holder: Holder) => void,
): Column<Holder>[] => [
  {
    heading: 'Person',
    width: 'minmax(12rem, 2fr)',
    cell: (holder) => (
      <>
        <Link className="text-link" to="/people/$email" params={{ email: holder.email }}>
          {nameOf(holder)}
        </Link>{' '}
        <Text span size="sm" c="dimmed">
          {holder.email}
        </Text>
      </>
    ),
  },
  {
    heading: 'Roles',
    width: '2fr',
    cell: (holder) => <RoleBadges roles={membershipRoles(holder)} />,
  },
  {
    ...ROW_MENU_COLUMN,
    cell: (holder) =>
      isChangeable(holder) && (
        <RowMenu label={`Actions for ${holder.email}`}>
          <Menu.Item onClick={() => change(holder)}>Roles…</Menu.Item>
        </RowMenu>
      ),
  },
];
