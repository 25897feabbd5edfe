import { Button, Kbd, Text } from '@mantine/core';
import { useDebouncedValue, useHotkeys } from '@mantine/hooks';
import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight';
import { IconSearch } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useState } from 'react';
import { canAdminister } from './roles.ts';
import { type Action, usePaletteActions } from './use-palette-actions.ts';
import { useSession } from './use-session.ts';

const TYPING_MS = 120;

/** @param isWide in the navigation, instead of the header of phones */
export const PaletteButton = ({ isWide = false }: { isWide?: boolean }) => (
  <Button
    variant="default"
    onClick={spotlight.open}
    fullWidth={isWide}
    flex="none"
    leftSection={<IconSearch size={16} stroke={1.6} aria-hidden />}
    {...(isWide && {
      justify: 'flex-start',
      px: 'sm',
      fw: 500,
      c: 'dimmed',
      styles: { label: { flex: 1 } },
      rightSection: (
        <Kbd size="xs" className="nowrap">
          Ctrl K
        </Kbd>
      ),
    })}
  >
    Search
  </Button>
);

/** ⌘K: finds people, apps and clients, leads to every screen, and runs actions. */
export const Palette = () => {
  const [query, setQuery] = useState('');
  const [search] = useDebouncedValue(query.trim(), TYPING_MS);
  const { groups, isSearching } = usePaletteActions(search);
  const isCurrent = search === query.trim() && !isSearching;
  const first = search === '' || !isCurrent ? undefined : groups.flatMap(({ actions }) => actions)[0];
  const withSelection = (action: Action): SpotlightActionData => ({
    ...action,
    // So that a selection does not outlive its results.
    id: `${search} ${action.id}`,
    ...(action === first && { 'data-selected': true }),
  });
  // Also while a field has the focus, unlike `/`.
  useHotkeys([['mod + K', spotlight.open]], []);
  return (
    <Spotlight
      query={query}
      onQueryChange={setQuery}
      actions={groups.map(({ group, actions }) => ({ group, actions: actions.map(withSelection) }))}
      // They are those that match.
      filter={(_query, actions) => actions}
      nothingFound={isCurrent ? <NothingFound search={search} /> : <Text>Searching…</Text>}
      // Typing right after the shortcut must reach the field.
      transitionProps={{ duration: 0 }}
      overlayProps={{ blur: 0, backgroundOpacity: 0.35 }}
      searchProps={{
        autoFocus: true,
        placeholder: 'Find people, apps, clients and actions',
        'aria-label': 'Find people, apps, clients and actions',
        onKeyDownCapture: useDelayedEnter(isCurrent, first),
      }}
      shortcut="/"
    />
  );
};

/** What else to do, for those who may. */
const NothingFound = ({ search }: { search: string }) => {
  const { roles } = useSession();
  return (
    <>
      <Text>Nothing matches “{search}”. Try another name or email address.</Text>
      {canAdminister(roles) && (
        <Link className="text-link" to="/invite" onClick={spotlight.close}>
          Invite people
        </Link>
      )}
    </>
  );
};

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
