import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import {
  type Icon,
  IconApps,
  IconBolt,
  IconBuilding,
  IconClock,
  IconUser,
  IconUsersGroup,
} from '@tabler/icons-react';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useClientChoice } from '../session/client-choice.ts';
import { canReadAudit, canView, isSuperuser, mayDo } from '../session/roles.ts';
import { screensFor } from '../session/screens.ts';
import { useSession } from '../session/use-session.ts';
import { PATHS, useOfferedViews } from '../views/views.ts';
import { logOut } from './log-out.ts';
import { ICONS } from './navigation.tsx';
import { type Action, MAX_FOUND, usePaletteFound } from './palette-found.ts';
import { ranked, scoreOfItem, wordsOf } from './palette-match.ts';
import { SCREEN_WORDS } from './palette-words.ts';
import { type Place, recentPlaces } from './recent-places.ts';

export type { Action } from './palette-found.ts';
export type ActionGroup = { group: string; actions: Action[] };

/** The actions for a search, the best first, and whether the service is still searching. */
export const usePaletteActions = (search: string): { groups: ActionGroup[]; isSearching: boolean } => {
  const words = wordsOf(search);
  const found = usePaletteFound(search);
  const own = useOwnActions();
  if (search === '') return { groups: withoutEmpty(own.start), isSearching: false };
  const local = (actions: readonly Action[]): Action[] =>
    ranked(actions, words)
      .filter(({ score }) => score > 0)
      .map(({ action }) => action);
  const groups = withoutEmpty([
    // The service has found them, by the address too.
    { group: 'People', actions: ranked(found.people, words).map(({ action }) => action) },
    { group: 'Actions on people', actions: local(found.personActions) },
    { group: 'Pending invitations', actions: found.invitations },
    { group: 'Apps', actions: local(found.apps).slice(0, MAX_FOUND) },
    { group: 'Groups', actions: found.groups },
    { group: 'Clients', actions: local(found.clients).slice(0, MAX_FOUND) },
    { group: 'Go to', actions: local(own.screens) },
    { group: 'Views', actions: local(own.views) },
    { group: 'Settings', actions: found.parts },
    { group: 'Actions', actions: local(own.commands) },
  ]);
  const best = ({ actions }: ActionGroup): number =>
    Math.max(...actions.slice(0, 1).map((action) => scoreOfItem(words, action)));
  return { groups: groups.toSorted((a, b) => best(b) - best(a)), isSearching: found.isSearching };
};

const withoutEmpty = (groups: readonly ActionGroup[]): ActionGroup[] =>
  groups.filter(({ actions }) => actions.length > 0);

/** Screens, commands, and what is shown before the user types. */
const useOwnActions = () => {
  const session = useSession();
  const { roles, user } = session;
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const otherScheme = useComputedColorScheme('light') === 'dark' ? 'light' : 'dark';
  const { remembered } = useClientChoice();
  const offered = useOfferedViews(remembered);
  const current = useRouterState({ select: ({ matches }) => matches.at(-1) });
  const toAccount = (): void => void navigate({ to: '/account' });
  const screens: Action[] = screensFor(roles).map(({ to, label, ...screen }) => ({
    id: `screen ${to}`,
    icon: ICONS[to],
    label,
    words: SCREEN_WORDS[to] ?? '',
    onClick: () => void navigate({ to, search: 'clients' in screen ? { client: remembered } : {} }),
  }));
  const views: Action[] = screensFor(roles).flatMap(({ to, label }) =>
    (Map.groupBy(offered, ({ list }): string => PATHS[list]).get(to) ?? []).map(({ name, search }) => ({
      id: `view ${to} ${JSON.stringify(search)}`,
      icon: ICONS[to],
      label: `${label}: ${name}`,
      words: SCREEN_WORDS[to] ?? '',
      onClick: () => void navigate({ to, search }),
    })),
  );
  const commands: Action[] = [
    ...(mayDo(roles, 'manage-people')
      ? [
          {
            label: 'Invite people',
            words: 'add user create new member onboard import csv',
            onClick: () => void navigate({ to: '/invite', search: { client: remembered } }),
          },
        ]
      : []),
    ...(canView(roles)
      ? [
          {
            label: 'Export people as CSV',
            words: 'download users list',
            onClick: () => void navigate({ to: '/people', search: { client: remembered } }),
          },
          {
            label: 'Export usage as CSV',
            words: 'download report',
            onClick: () => void navigate({ to: '/usage', search: { client: remembered } }),
          },
        ]
      : []),
    ...(canReadAudit(roles)
      ? [
          {
            label: 'Export the audit trail as CSV',
            words: 'download log history',
            onClick: () => void navigate({ to: '/audit', search: { client: remembered } }),
          },
        ]
      : []),
    ...(isSuperuser(roles)
      ? [
          {
            label: 'New client',
            words: 'add create tenant organization customer',
            onClick: () => void navigate({ to: '/clients', search: { do: 'new' } }),
          },
        ]
      : []),
    { label: 'Change your password', words: 'login credentials', onClick: toAccount },
    { label: 'Set up your second factor', words: 'mfa 2fa totp passkey authenticator', onClick: toAccount },
    { label: 'Create an API token', words: 'key script access', onClick: toAccount },
    {
      label: `Use ${otherScheme} colors`,
      words: 'theme mode dark light night appearance',
      onClick: () => setColorScheme(otherScheme),
    },
    { label: 'Log out', words: 'logout sign signout exit', onClick: () => void logOut(session) },
  ].map((command) => ({ id: `command ${command.label}`, icon: IconBolt, ...command }));
  const recent = recentPlaces(user.email, { to: current?.routeId ?? '', params: { ...current?.params } });
  const places: Action[] = recent.map(({ to, params, label }) => ({
    id: `recent ${to} ${Object.values(params).join(' ')}`,
    icon: iconOf(to),
    label,
    ...(to.startsWith('/people/') && { description: params.email ?? '' }),
    // As it was visited before: a path of the router, with its parameters.
    onClick: () => void navigate({ to, params } as unknown as Parameters<typeof navigate>[0]),
  }));
  return {
    screens,
    views,
    commands,
    start: [
      { group: 'Recent', actions: places },
      { group: 'Go to', actions: screens },
      { group: 'Actions', actions: commands },
    ],
  };
};

const iconOf = (to: Place['to']): Icon => {
  const screen = Object.entries(ICONS).find(([path]) => path === to)?.[1];
  if (screen) return screen;
  if (to.startsWith('/people/')) return IconUser;
  if (to.startsWith('/apps/')) return IconApps;
  if (to.startsWith('/clients/')) return IconBuilding;
  return to.startsWith('/groups/') ? IconUsersGroup : IconClock;
};
