import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { nameOf } from '../people/name-of.ts';
import { useClientChoice } from './client-choice.ts';
import { logOut } from './log-out.ts';
import { canView, mayDo } from './roles.ts';
import { screensFor } from './screens.ts';
import { useFound } from './use-found.ts';
import { useSession } from './use-session.ts';

export type Action = {
  /** Unique in the palette. */
  id: string;
  label: string;
  /** Shown next to the label. */
  description?: string;
  onClick: () => void;
};
export type ActionGroup = { group: string; actions: Action[] };

/** The actions for a search, and whether the service is still searching. */
export const usePaletteActions = (search: string): { groups: ActionGroup[]; isSearching: boolean } => {
  const session = useSession();
  const { roles } = session;
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const otherScheme = useComputedColorScheme('light') === 'dark' ? 'light' : 'dark';
  const found = useFound(search);
  const matches = (text: string): boolean => text.toLowerCase().includes(search.toLowerCase());

  const people = found.people.map((person) => ({
    id: `person ${person.email}`,
    label: nameOf(person),
    description: person.email,
    onClick: () => void navigate({ to: '/people/$email', params: { email: person.email } }),
  }));
  const invitations = found.invitations.map(({ id, email }) => ({
    id: `invitation ${id}`,
    label: email,
    onClick: () => void navigate({ to: '/invitations', search: { search: email } }),
  }));
  const apps = found.apps.map(({ id, label, slug }) => ({
    id: `app ${id}`,
    label,
    description: slug,
    // Members can change nothing on its screen, so they open the app.
    onClick: () =>
      canView(roles)
        ? void navigate({ to: '/apps/$id', params: { id } })
        : location.assign(`/launch/${slug}/`),
  }));
  const clients = found.clients.map(({ id, name }) => ({
    id: `client ${id}`,
    label: name,
    onClick: () => void navigate({ to: '/clients/$id', params: { id: String(id) } }),
  }));
  const { remembered } = useClientChoice();
  const screens = screensFor(roles).map(({ to, label, ...screen }) => ({
    id: `screen ${to}`,
    label,
    onClick: () => void navigate({ to, search: 'clients' in screen ? { client: remembered } : {} }),
  }));
  const commands = [
    ...(mayDo(roles, 'manage-people')
      ? [{ label: 'Invite people', onClick: () => void navigate({ to: '/invite' }) }]
      : []),
    { label: 'Change your password', onClick: () => void navigate({ to: '/account' }) },
    { label: `Use ${otherScheme} colors`, onClick: () => setColorScheme(otherScheme) },
    { label: 'Log out', onClick: () => void logOut(session) },
  ].map((command) => ({ id: `command ${command.label}`, ...command }));
  const groups = [
    { group: 'People', actions: people },
    { group: 'Pending invitations', actions: invitations },
    { group: 'Apps', actions: apps },
    { group: 'Clients', actions: clients },
    { group: 'Go to', actions: screens.filter(({ label }) => matches(label)) },
    { group: 'Actions', actions: commands.filter(({ label }) => matches(label)) },
  ];
  return {
    groups: groups.filter(({ actions }) => actions.length > 0),
    isSearching: found.isSearching,
  };
};
