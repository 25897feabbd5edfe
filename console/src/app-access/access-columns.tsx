import { Button, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Outputs } from '../api.ts';
import { EndBadge } from '../components/end-badge.tsx';
import type { Column } from '../components/virtual-table.tsx';
import { nameOf } from '../people/name-of.ts';

type Person = Outputs['access']['effective'][number];

const ROLES: Record<string, string> = {
  superuser: 'Superuser',
  staff: 'Staff',
  'client-admin': 'Admin of the client',
};

/** Everything that gives the app: `Group Finance; granted by ada@acme.test: “Audit”`. */
const waysOf = ({ role, groups, is_granted, granted_by: by, reason }: Person): string => {
  const grant = `Granted${by === null ? '' : ` by ${by}`}${reason ? `: “${reason}”` : ''}`;
  return [
    ...(role === null ? [] : [ROLES[role] ?? role]),
    ...groups.map((name) => `Group ${name}`),
    ...(is_granted ? [grant] : []),
  ].join('; ');
};

export const accessColumns = (onExplain: (person: Person) => void): Column<Person>[] => [
  {
    heading: 'Person',
    width: 'minmax(9rem, 3fr)',
    cell: (person) => (
      <Group gap="xs" wrap="nowrap">
        <Link className="text-link" to="/people/$email" params={{ email: person.email }} title={person.email}>
          {nameOf(person)}
        </Link>
        {nameOf(person) !== person.email && (
          <Text span fz="inherit" c="dimmed" truncate flex="1 1 0" miw={0} visibleFrom="sm">
            {person.email}
          </Text>
        )}
      </Group>
    ),
  },
  {
    heading: 'Through',
    width: 'minmax(12rem, 3fr)',
    onPhone: 'plain',
    cell: (person) => <span title={waysOf(person)}>{waysOf(person)}</span>,
  },
  {
    heading: 'Until',
    width: '9.5rem',
    cell: ({ ends_at }) =>
      ends_at ? (
        <EndBadge date={ends_at} />
      ) : (
        <Text span fz="inherit" c="dimmed">
          –
        </Text>
      ),
  },
  {
    id: 'why',
    heading: <span className="visually-hidden">Why?</span>,
    width: '5rem',
    onPhone: 'corner',
    cell: (person) => (
      <Button
        variant="default"
        size="compact-sm"
        aria-label={`Why? ${nameOf(person)}`}
        onClick={() => onExplain(person)}
      >
        Why?
      </Button>
    ),
  },
];
