import { Button, Kbd, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useState } from 'react';
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
  const isCurrent = search === query.trim() && !people.isPlaceholderData && !people.isLoading;

  // The search is part of the ids, so that a selection does not outlive its results.
  const screens = screensFor(roles)
    .filter(({ label }) => label.toLowerCase().includes(search.toLowerCase()))
    .map(({ to, label }) => ({ id: `${search} screen ${to}`, label, onClick: () => void navigate({ to }) }));
  const found = (search === '' ? [] : (people.data ?? [])).map((person) => ({
    id: `${search} person ${person.email}`,
    label: nameOf(person),
    description: person.email,
    onClick: () => void navigate({ to: '/people/$email', params: { email: person.email } }),
  }));
  const first = search === '' || !isCurrent ? undefined : (found[0] ?? screens[0]);
  const withSelection = (action: Action): SpotlightActionData => ({
    ...action,
    ...(action === first && { 'data-selected': true }),
  });
  return (
    <Spotlight
      query={query}
      onQueryChange={setQuery}
      actions={[
        { group: 'People', actions: found.map(withSelection) },
        { group: 'Go to', actions: screens.map(withSelection) },
      ]}
      // The service has already filtered.
      filter={(_query, actions) => actions}
      nothingFound={<Text>{isCurrent ? 'Nothing found. Try another name or address.' : 'Searching…'}</Text>}
      // Typing right after the shortcut must reach the field.
      transitionProps={{ duration: 0 }}
      overlayProps={{ blur: 0, backgroundOpacity: 0.35 }}
      searchProps={{
        autoFocus: true,
        placeholder: 'Find a person or a screen',
        'aria-label': 'Find a person or a screen',
        onKeyDownCapture: useDelayedEnter(isCurrent, first),
      }}
      shortcut={['mod + K', '/']}
    />
  );
};

type Action = Pick<SpotlightActionData, 'id' | 'label' | 'description'> & { onClick: () => void };

/** Enter waits for the results of what was typed, and opens the first. Returns a handler for the search field. */
const useDelayedEnter = (isCurrent: boolean, first: Action | undefined) => {
  const [isWaiting, setWaiting] = useState(false);
  useEffect(() => {
    if (!isWaiting || !isCurrent) return;
    setWaiting(false);
    if (!first) return;
    spotlight.close();
    first.onClick();
  }, [isWaiting, isCurrent, first]);
  return (event: KeyboardEvent): void => {
    const isEarly = event.key === 'Enter' && !isCurrent;
    if (isEarly) event.stopPropagation();
    setWaiting(isEarly);
  };
};
