import { Button, Kbd, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { nameOf } from '../people/name-of.ts';
import { canView } from './roles.ts';
import { screensFor } from './screens.ts';
import { useSession } from './use-session.ts';

const FOUND_PEOPLE = 7;
const TYPING_MS = 120;

export const PaletteButton = () => (
  <Button variant="default" onClick={spotlight.open} rightSection={<Kbd size="xs">Ctrl K</Kbd>}>
    Search
  </Button>
);

/** ⌘K: finds people, and leads to every screen. */
export const Palette = () => {
  const { roles } = useSession();
  const navigate = useNavigate();
  const [query, setQuery] = useState('');
  const [search] = useDebouncedValue(query.trim(), TYPING_MS);
  const people = useQuery(
    trpc.users.list.queryOptions(
      { search, limit: FOUND_PEOPLE },
      { enabled: canView(roles) && search !== '', placeholderData: (previous) => previous },
    ),
  );

  const screens = screensFor(roles)
    .filter(({ label }) => label.toLowerCase().includes(search.toLowerCase()))
    .map(({ to, label }) => ({ id: `screen ${to}`, label, onClick: () => void navigate({ to }) }));
  const found = (search === '' ? [] : (people.data ?? [])).map(
    (person): SpotlightActionData => ({
      id: `person ${person.email}`,
      label: nameOf(person),
      description: person.email,
      onClick: () => void navigate({ to: '/people/$email', params: { email: person.email } }),
    }),
  );
  return (
    <Spotlight
      query={query}
      onQueryChange={setQuery}
      actions={[
        { group: 'People', actions: found },
        { group: 'Go to', actions: screens },
      ]}
      // The service has already filtered.
      filter={(_query, actions) => actions}
      nothingFound={<Text>Nothing found.</Text>}
      searchProps={{ placeholder: 'Find a person or a screen', 'aria-label': 'Find a person or a screen' }}
      shortcut={['mod + K', '/']}
    />
  );
};
