import { Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { nameOf } from './name-of.ts';

type Person = Parameters<typeof nameOf>[0];

export const PersonLink = ({
  person,
  className = '',
}: {
  person: Person;
  className?: string | undefined;
}) => (
  <Link
    className={`text-link ${className}`}
    to="/people/$email"
    params={{ email: person.email }}
    title={person.email}
  >
    {nameOf(person)}
  </Link>
);

/** A cell that names a person: the address stands beside the name where there is room. */
export const PersonCell = ({ person, children }: { person: Person; children?: ReactNode }) => (
  <Group gap="xs" wrap="nowrap">
    <PersonLink person={person} />
    {nameOf(person) !== person.email && (
      <Text span fz="inherit" c="dimmed" truncate flex="1 1 0" miw={0} visibleFrom="sm">
        {person.email}
      </Text>
    )}
    {children}
  </Group>
);
