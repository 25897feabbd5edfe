import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { fieldErrors, isProblem } from '@steward/client';
import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Navigate, useNavigate } from '@tanstack/react-router';
import { type Outputs, steward, trpc } from '../api.ts';
import type { Column } from '../components/column.ts';
import { dayText } from '../components/date-text.tsx';
import { DebouncedInput } from '../components/debounced-input.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { StatusText } from '../components/status-text.tsx';
import { notify } from '../components/toasts.ts';
import { useAskedDialog } from '../components/use-asked-dialog.ts';
import { VirtualTable } from '../components/virtual-table.tsx';
import { soleClientOf } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import type { Order, Sort } from './client-search.ts';

type Client = Outputs['clients']['overview'][number];

const route = getRouteApi('/clients');

/** All clients with their numbers. Who sees only one gets its settings. */
export const ClientsScreen = () => {
  const only = soleClientOf(useSession().roles);
  if (only === undefined) return <ClientList />;
  return <Navigate to="/clients/$id" params={{ id: String(only) }} replace />;
};

const ClientList = () => {
  const clients = useSuspenseQuery(trpc.clients.overview.queryOptions({})).data;
  const { is_superuser } = useSession().roles;
  const { search, sort = 'name' } = route.useSearch();
  const navigate = route.useNavigate();
  const [isCreating, { open, close }] = useDisclosure();
  useAskedDialog({ new: is_superuser && open });
  const change = (changes: { search?: string | undefined; sort?: Order }): void =>
    void navigate({ search: (previous) => ({ ...previous, ...changes }), replace: true });
  const rows = ordered(clients.filter(matches(search)), sort);
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
        <>
          <Group mb="sm">
            <DebouncedInput
              label="Search by name or site"
              value={search}
              onChange={(text) => change({ search: text })}
            />
          </Group>
          {rows.length === 0 ? (
            <EmptyState title="No client matches">Change the search.</EmptyState>
          ) : (
            <VirtualTable
              label="Clients"
              columns={COLUMNS}
              rows={rows}
              sort={sort}
              onSort={(order) => change({ sort: order })}
              keyOf={({ id }) => id}
              hasMore={false}
              onMore={() => {}}
            />
          )}
        </>
      )}
      <NewClient isOpen={isCreating} onClose={close} />
    </>
  );
};

const matches =
  (search = '') =>
  ({ name, domain }: Client): boolean =>
    search
      .toLowerCase()
      .split(/\s+/)
      .every((word) => `${name} ${domain}`.toLowerCase().includes(word));

const COLLATOR = new Intl.Collator('en', { numeric: true });

/** By name where the sorted values are equal. Clients without use come first, like the smallest number. */
const ordered = (clients: readonly Client[], order: Order): Client[] => {
  const sort = order.replace(/^-/, '') as Sort;
  const sign = order.startsWith('-') ? -1 : 1;
  return clients.toSorted(
    (a, b) =>
      sign * COLLATOR.compare(String(a[sort] ?? ''), String(b[sort] ?? '')) ||
      COLLATOR.compare(a.name, b.name),
  );
};

const COLUMNS: Column<Client, Sort>[] = [
  {
    heading: 'Name',
    sort: 'name',
    width: 'minmax(11rem, 2fr)',
    cell: ({ id, name }) => (
      <Link className="text-link" to="/clients/$id" params={{ id: String(id) }}>
        {name}
      </Link>
    ),
  },
  { heading: 'Site', width: 'minmax(10rem, 2fr)', onPhone: 'plain', cell: ({ domain }) => domain },
  {
    heading: 'Active people',
    sort: 'people',
    width: '7rem',
    isNumber: true,
    onPhone: 'half',
    cell: ({ id, people }) => (
      <Link className="action-link" to="/people" search={{ client: id, is_active: true }}>
        {people.toLocaleString()}
      </Link>
    ),
  },
  {
    heading: 'Apps',
    sort: 'apps',
    width: '5rem',
    isNumber: true,
    onPhone: 'half',
    cell: ({ id, apps }) => (
      <Link className="action-link" to="/apps" search={{ client: id }}>
        {apps.toLocaleString()}
      </Link>
    ),
  },
  {
    heading: 'Roles',
    sort: 'admins',
    width: '9rem',
    cell: (client) => (client.admins === 0 ? <NoAdmin id={client.id} /> : rolesText(client)),
  },
  {
    heading: 'Last use',
    sort: 'last_used_day',
    width: '7.5rem',
    onPhone: 'half',
    cell: ({ last_used_day: day }) =>
      day === null ? (
        <Text span fz="inherit" c="dimmed">
          Never
        </Text>
      ) : (
        dayText(day)
      ),
  },
  {
    heading: 'State',
    width: '6rem',
    onPhone: 'corner',
    cell: ({ is_open: isOpen }) => (
      <StatusText label={isOpen ? 'Open' : 'Closed'} color={isOpen ? 'green' : 'gray'} />
    ),
  },
];

const NoAdmin = ({ id }: { id: number }) => (
  <Link className="action-link" to="/clients/$id" params={{ id: String(id) }} search={{ tab: 'people' }}>
    No admin yet
  </Link>
);

/** `2 admins, 3 others`. */
const rolesText = ({ admins, delegates }: Client): string =>
  [
    admins === 1 ? '1 admin' : `${admins} admins`,
    ...(delegates > 0 ? [delegates === 1 ? '1 other' : `${delegates} others`] : []),
  ].join(', ');

type Values = { name: string; domain: string };

/** Creates the site unless it exists, then its client. */
const createClient = async ({ name, domain }: Values) => {
  const sites = await steward.api.sites.list.query({});
  const known = sites.find((site) => site.domain === domain.trim().toLowerCase());
  const site = known ?? (await steward.api.sites.create.mutate({ domain: domain.trim(), name }));
  return steward.api.clients.create.mutate({ name, site: site.id });
};

type Props = { isOpen: boolean; onClose: () => void };

const NewClient = ({ isOpen, onClose }: Props) => {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const form = useForm<Values>({ initialValues: { name: '', domain: '' } });
  const create = useMutation({
    mutationFn: createClient,
    onSuccess: async ({ id, name }) => {
      await queryClient.invalidateQueries(trpc.clients.pathFilter());
      notify(`Created ${name}.`);
      onClose();
      await navigate({ to: '/clients/$id', params: { id: String(id) }, search: { tab: 'people' } });
    },
    onError: (error) => {
      const { site, ...messages } = joined(fieldErrors(error));
      form.setErrors(site === undefined ? messages : { ...messages, domain: site });
    },
  });
  const isFieldError = isProblem(create.error) && Object.keys(fieldErrors(create.error)).length > 0;
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="New client">
      <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
        <Stack>
          {!isFieldError && <ProblemAlert error={create.error} />}
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <TextInput
            label="Domain"
            description="The host name that its people open, such as apps.example.com."
            required
            {...form.getInputProps('domain')}
          />
          <DialogButtons action="Create" isPending={create.isPending} onClose={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
};
