import { Avatar, Badge, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Outputs } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { type Column, VirtualTable } from '../components/virtual-table.tsx';
import { nameOf } from './name-of.ts';

type Person = Extract<Outputs['users']['list'], readonly unknown[]>[number];

const COLUMNS: Column<Person>[] = [
  { heading: 'Name', width: '2fr', cell: (person) => <NameCell person={person} /> },
  { heading: 'Email address', width: '2fr', cell: ({ email }) => email },
  { heading: 'Apps', width: '4rem', cell: ({ apps }) => apps.length },
  {
    heading: 'Last login',
    width: '1fr',
    cell: ({ last_login }) => <DateText date={last_login} />,
  },
  {
    heading: 'Joined',
    width: '1fr',
    cell: ({ date_joined }) => <DateText date={date_joined} />,
  },
];

const NameCell = ({ person }: { person: Person }) => (
  <Group gap="sm" wrap="nowrap">
    <Avatar src={person.profile_avatar} alt="" size={28} />
    <Link className="text-link" to="/people/$email" params={{ email: person.email }}>
      {nameOf(person)}
    </Link>
    {!person.is_active && <Badge variant="default">Inactive</Badge>}
  </Group>
);

type Props = { people: Person[]; hasMore: boolean; onMore: () => void };

export const PeopleTable = ({ people, hasMore, onMore }: Props) => (
  <VirtualTable
    label="People"
    columns={COLUMNS}
    rows={people}
    keyOf={({ email }) => email}
    hasMore={hasMore}
    onMore={onMore}
  />
);
