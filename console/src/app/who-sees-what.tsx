import { Anchor, Group, Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { StatusText } from '../components/status-text.tsx';
import { Tags } from '../components/tags.tsx';
import type { Column } from '../components/virtual-table.tsx';
import type { AppRole } from '../data-permissions/declared.ts';
import { nameOf } from '../people/name-of.ts';

type Row = Outputs['dataPermissions']['ofApp'][number];

const PAGE_SIZE = 100;

type Props = { id: string; roles: readonly AppRole[] };

/** The people who have an app, with the data and the roles that they have there. */
export const WhoSeesWhat = ({ id, roles }: Props) => {
  const people = useInfiniteQuery(
    trpc.dataPermissions.ofApp.infiniteQueryOptions(
      { app_id: id, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.email) },
    ),
  );
  return (
    <Stack gap="sm">
      <Group justify="flex-end">
        <Anchor
          size="sm"
          href={`/api/v1/jb/apps/${id}/data-permissions/?format=csv`}
          download="data-permissions.csv"
        >
          Download CSV
        </Anchor>
      </Group>
      <PagedTable
        label="Who sees what"
        columns={columnsOf(roles)}
        pages={people}
        keyOf={({ email }) => email}
        empty={<EmptyState title="No one has the app">Grant it to someone first.</EmptyState>}
      />
    </Stack>
  );
};

const columnsOf = (roles: readonly AppRole[]): Column<Row>[] => [
  {
    heading: 'Person',
    width: 'minmax(9rem, 2fr)',
    cell: (person) => (
      <Group gap="xs" wrap="nowrap">
        <Link className="text-link" to="/people/$email" params={{ email: person.email }} title={person.email}>
          {nameOf(person)}
        </Link>
        {!person.allowed && <StatusText label="Closed" color="red" />}
      </Group>
    ),
  },
  {
    heading: 'Sees',
    width: 'minmax(10rem, 3fr)',
    onPhone: 'plain',
    cell: ({ sees }) => <span title={sees}>{sees || <Dash />}</span>,
  },
  ...(roles.length === 0
    ? []
    : [
        {
          heading: 'Roles',
          width: 'minmax(7rem, 1.5fr)',
          cell: ({ app_roles: keys }: Row) =>
            keys.length === 0 ? (
              <Dash />
            ) : (
              <Tags
                names={keys.map((key) => roles.find((role) => role.key === key)?.label || key)}
                shown={2}
              />
            ),
        },
      ]),
  {
    heading: 'Wrong',
    width: 'minmax(9rem, 2fr)',
    onPhone: 'plain',
    cell: ({ faults }) =>
      faults !== '' && (
        <Text span fz="inherit" c="var(--mantine-color-error)" title={faults}>
          {faults}
        </Text>
      ),
  },
];

const Dash = () => (
  <Text span fz="inherit" c="dimmed">
    –
  </Text>
);
