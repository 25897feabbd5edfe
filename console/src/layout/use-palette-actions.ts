import { useMantineColorScheme } from '@mantine/core';
import type { SpotlightActionData } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { nameOf } from '../people/name-of.ts';
import { logOut } from './log-out.ts';
import { canAdminister, canView } from './roles.ts';
import { screensFor } from './screens.ts';
import { useSession } from './use-session.ts';

/** Of each kind. */
const MAX_FOUND = 7;

export type Action = Pick<SpotlightActionData, 'label' | 'description'> & {
  id: string;
  onClick: () => void;
};
type Group = { group: string; actions: Action[] };

/** What the palette offers for a search, and whether people are still being looked for. */
export const usePaletteActions = (search: string): { groups: Group[]; isSearching: boolean } => {
  const { roles } = useSession();
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const enabled = canView(roles) && search !== '';
  const people = useQuery(
    trpc.users.list.queryOptions(
      { search, sort: 'email', limit: MAX_FOUND },
      { enabled, placeholderData: (previous) => previous },
    ),
  );
  // Short lists, which other screens have often loaded before.
  const apps = useQuery(trpc.apps.list.queryOptions({}, { enabled })).data;
  const clients = useQuery(trpc.clients.list.queryOptions({}, { enabled })).data;
  const matches = (text: string): boolean => text.toLowerCase().includes(search.toLowerCase());

  const foundPeople = (people.data ?? []).map((person) => ({
    id: `person ${person.email}`,
    label: nameOf(person),
    description: person.email,
    onClick: () => void navigate({ to: '/people/$email', params: { email: person.email } }),
  }));
  const foundApps = (apps ?? [])
    .filter(({ label, slug }) => matches(`${label} ${slug}`))
    .slice(0, MAX_FOUND)
    .map(({ id, label, slug }) => ({
      id: `app ${id}`,
      label,
      description: slug,
      onClick: () => void navigate({ to: '/apps/$id', params: { id } }),
    }));
  const foundClients = (clients ?? [])
    .filter(({ name }) => matches(name))
    .slice(0, MAX_FOUND)
    .map(({ id, name }) => ({
      id: `client ${id}`,
      label: name,
      onClick: () => void navigate({ to: '/clients/$id', params: { id: String(id) } }),
    }));
  const screens = screensFor(roles).map(({ to, label }) => ({
    id: `screen ${to}`,
    label,
    onClick: () => void navigate({ to }),
  }));
  const commands = [
    ...(canAdminister(roles)
      ? [{ label: 'Invite people', onClick: () => void navigate({ to: '/invite' }) }]
      : []),
    { label: 'Change your password', onClick: () => void navigate({ to: '/account' }) },
    { label: 'Use light colors', onClick: () => setColorScheme('light') },
    { label: 'Use dark colors', onClick: () => setColorScheme('dark') },
    { label: 'Log out', onClick: () => void logOut() },
  ].map((command) => ({ id: `command ${command.label}`, ...command }));
  const found = enabled
    ? [
        { group: 'People', actions: foundPeople },
        { group: 'Apps', actions: foundApps },
        { group: 'Clients', actions: foundClients },
      ]
    : [];
  return {
    groups: [
      ...found,
      { group: 'Go to', actions: screens.filter(({ label }) => matches(label)) },
      { group: 'Actions', actions: commands.filter(({ label }) => matches(label)) },
    ],
    isSearching: people.isPlaceholderData || people.isLoading,
  };
};
