import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { fieldErrors } from '@steward/client';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { useAppLabels } from '../components/changes.tsx';
import type { Column } from '../components/column.ts';
import { dateOf, exactTimeOf } from '../components/date-text.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { joined } from '../components/form-fields.ts';
import { PagedTable } from '../components/paged-table.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { Tags } from '../components/tags.tsx';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import { AppChecklist } from '../people/app-checklist.tsx';
import { useOneClient } from '../session/client-choice.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

const PAGE_SIZE = 100;

type GroupRow = Outputs['groups']['list'][number];

/** The teams of a client, with their apps. */
export const GroupsScreen = () => {
  const { roles } = useSession();
  const { client } = useOneClient();
  const [isCreating, { open, close }] = useDisclosure();
  if (!client)
    return (
      <>
        <ScreenHeader title="Groups" />
        <EmptyState title="There are no clients yet">Create one first.</EmptyState>
      </>
    );
  const mayChange = mayDo(roles, 'manage-people', client.id);
  return (
    <>
      <ScreenHeader
        title="Groups"
        lead={`Teams of ${client.name}. Members get the apps of their groups.`}
        actions={mayChange && <Button onClick={open}>New group</Button>}
      />
      <GroupTable key={client.id} client={client.id} onCreate={mayChange ? open : undefined} />
      {isCreating && <NewGroup client={client.id} onClose={close} />}
    </>
  );
};

type TableProps = {
  client: number;
  /** Undefined for users who may not create groups. */
  onCreate: (() => void) | undefined;
};

const GroupTable = ({ client, onCreate }: TableProps) => {
  const appLabels = useAppLabels();
  const groups = useInfiniteQuery(
    trpc.groups.list.infiniteQueryOptions(
      { id: client, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  return (
    <PagedTable
      label="Groups"
      columns={columnsOf(appLabels)}
      pages={groups}
      keyOf={({ id }) => id}
      empty={
        <EmptyState
          title="There are no groups yet"
          action={
            onCreate && (
              <Button variant="default" onClick={onCreate}>
                Create the first group
              </Button>
            )
          }
        >
          {onCreate
            ? 'Create one to give several people the same apps, and to take them away together.'
            : 'Admins of the client create them.'}
        </EmptyState>
      }
    />
  );
};

const columnsOf = (appLabels: ReadonlyMap<string, string>): Column<GroupRow>[] => [
  {
    heading: 'Name',
    width: 'minmax(9rem, 2fr)',
    cell: ({ id, client, name }) => (
      <Link
        className="text-link"
        to="/groups/$client/$group"
        params={{ client: String(client), group: String(id) }}
      >
        {name}
      </Link>
    ),
  },
  {
    heading: 'Members',
    width: '6rem',
    onPhone: 'corner',
    cell: ({ member_count: count }) => (
      <>
        {count.toLocaleString()}{' '}
        <Text span fz="inherit" hiddenFrom="sm">
          {count === 1 ? 'member' : 'members'}
        </Text>
      </>
    ),
  },
  {
    heading: 'Apps',
    width: 'minmax(9rem, 3fr)',
    cell: ({ apps }) =>
      apps.length === 0 ? '–' : <Tags names={apps.map((id) => appLabels.get(id) ?? id)} shown={4} />,
  },
  {
    heading: 'Created',
    width: '7rem',
    cell: ({ created_at: date }) => <span title={exactTimeOf(date)}>{dateOf(date)}</span>,
  },
];

type NewProps = { client: number; onClose: () => void };

/** Creates a group with its apps, and opens it, so that the user can add members. */
const NewGroup = ({ client, onClose }: NewProps) => {
  const refresh = useAccessRefresh();
  const navigate = useNavigate();
  const form = useForm({ initialValues: { name: '', apps: [] as string[] } });
  const create = useMutation(
    trpc.groups.create.mutationOptions({
      onSuccess: async ({ id }) => {
        void refresh();
        onClose();
        const params = { client: String(client), group: String(id) };
        await navigate({ to: '/groups/$client/$group', params });
      },
      onError: (error) => form.setErrors(joined(fieldErrors(error))),
    }),
  );
  const isFieldError = Object.keys(fieldErrors(create.error)).length > 0;
  return (
    <Dialog isOpen onClose={onClose} title="New group">
      <form onSubmit={form.onSubmit((values) => create.mutate({ id: client, ...values }))}>
        <Stack>
          {!isFieldError && <ProblemAlert error={create.error} />}
          <TextInput
            label="Name"
            placeholder="Finance"
            required
            maxLength={100}
            data-autofocus
            {...form.getInputProps('name')}
          />
          <AppChecklist
            client={client}
            description="What all members may open. You can choose them later, too."
            value={form.getValues().apps}
            onChange={(apps) => form.setFieldValue('apps', apps)}
          />
          <DialogButtons action="Create" isPending={create.isPending} onClose={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
};
