import { Button, Group, Menu, Stack } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { capitalized } from '../components/capitalized.ts';
import type { Column } from '../components/column.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { PersonCell } from '../components/person-link.tsx';
import { ROW_MENU_COLUMN, RowMenu } from '../components/row-menu.tsx';
import { GiveRolesDialog } from '../roles/give-roles-dialog.tsx';
import { RolesDialog } from '../roles/roles-dialog.tsx';
import { CLIENT_ADMIN, isSuperuser, mayDo, membershipRoles, roleLabel } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import type { Client } from './use-client-form.ts';

type Holder = Outputs['roles']['listInClient'][number];

const PAGE_SIZE = 50;

/** The people with a role in the client. Superusers make its admins, who give the other roles. */
export const ClientPeople = ({ client: { id, name } }: { client: Client }) => {
  const { roles, user } = useSession();
  const holders = useInfiniteQuery(
    trpc.roles.listInClient.infiniteQueryOptions(
      { id, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.email) },
    ),
  );
  const mayChange = mayDo(roles, 'configure', id);
  const [opened, setOpened] = useState<Holder>();
  const [given, setGiven] = useState<readonly string[]>();
  const isDelegating = !isSuperuser(roles);
  return (
    <Stack>
      {mayChange && (
        <Group gap="xs" justify="flex-end">
          {!isDelegating && (
            <Button variant="default" onClick={() => setGiven([])}>
              Give a role
            </Button>
          )}
          <Button onClick={() => setGiven(isDelegating ? [] : [CLIENT_ADMIN])}>
            {isDelegating ? 'Give a role' : 'Add an admin'}
          </Button>
        </Group>
      )}
      <PagedTable
        label="People with a role"
        columns={columnsOf(mayChange ? ({ email }) => email !== user.email : () => false, setOpened)}
        pages={holders}
        keyOf={({ email }) => email}
        empty={
          <EmptyState title="No one has a role in this client">
            {isDelegating ? 'A superuser can add an admin.' : 'Add an admin to run the client.'}
          </EmptyState>
        }
      />
      <GiveRolesDialog client={{ id, name }} roles={given} onClose={() => setGiven(undefined)} />
      <RolesDialog
        isOpen={opened !== undefined}
        client={{ id, name }}
        holder={opened ?? null}
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
    cell: (holder) => <PersonCell person={holder} />,
  },
  {
    heading: 'Roles',
    width: '2fr',
    cell: (holder) => capitalized(membershipRoles(holder).map(roleLabel).join(', ')),
  },
  {
    ...ROW_MENU_COLUMN,
    cell: (holder) =>
      isChangeable(holder) && (
        <RowMenu label={`Actions for ${holder.email}`}>
          <Menu.Item onClick={() => change(holder)}>Change roles…</Menu.Item>
        </RowMenu>
      ),
  },
];
