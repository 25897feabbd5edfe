import {
  type Icon,
  IconApps,
  IconBuilding,
  IconSend,
  IconSettings,
  IconUser,
  IconUserCog,
  IconUsersGroup,
} from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { nameOf } from '../components/name-of.ts';
import { useFound } from '../components/use-found.ts';
import { useClientChoice } from '../session/client-choice.ts';
import { canView, type Roles } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { hasPrefix, hasWord, ranked, scoreOf, wordsOf } from './palette-match.ts';
import { APP_PARTS, type AppTab, CLIENT_PARTS, type ClientTab, PERSON_ACTIONS } from './palette-words.ts';

/** Limit per kind. */
export const MAX_FOUND = 7;
/** How many subjects a part of a screen is offered for if the search names none. */
const MAX_SUBJECTS = 3;

export type Action = {
  /** Unique in the palette. */
  id: string;
  icon: Icon;
  label: string;
  /** Shown next to the label. */
  description?: string;
  /** Other words by which it is found. */
  words?: string;
  /** Continues with this text instead of closing the palette. */
  query?: string;
  onClick: () => void;
};

/** The actions of a person that begin with the first words of a search, and the rest of it, which names the person. */
const personActionsOf = (search: string, roles: Roles) => {
  const [first = '', ...rest] = search.toLowerCase().split(/\s+/).filter(Boolean);
  // A shorter word rather begins a name.
  const actions =
    first.length < 3
      ? []
      : PERSON_ACTIONS.filter(
          ({ label, words, isFor }) => isFor(roles) && hasPrefix(`${label} ${words}`, first),
        );
  const name = rest.filter((word) => !actions.some(({ label, words }) => hasWord(`${label} ${words}`, word)));
  return { actions, first, name: name.join(' ') };
};

/** What the service or the lists have for a search, and the parts of screens and actions that it names. */
export const usePaletteFound = (search: string) => {
  const { roles } = useSession();
  const navigate = useNavigate();
  const enabled = canView(roles) && search !== '';
  const limited = { enabled, placeholderData: keepPreviousData };
  const { actions, first, name } = personActionsOf(search, roles);
  const { people, invitations, isSearching } = useFound(search);
  const namesPerson = name !== '' && actions.length > 0;
  const named = useQuery(
    trpc.users.list.queryOptions(
      { search: name, sort: 'email', limit: MAX_SUBJECTS },
      { ...limited, enabled: enabled && namesPerson },
    ),
  );
  const groups = useQuery(trpc.groups.search.queryOptions({ search, limit: MAX_FOUND }, limited));
  // Short lists, which other screens have often loaded already.
  const apps = useQuery(trpc.apps.list.queryOptions({}, { enabled })).data ?? [];
  const clients = useQuery(trpc.clients.list.queryOptions({}, { enabled })).data ?? [];
  const { remembered } = useClientChoice();
  const queries = [groups, ...(namesPerson ? [named] : [])];
  if (!enabled) return NOTHING_FOUND;

  const words = wordsOf(search);
  // The chosen one first.
  const offered = clients
    .map(({ id, name: label }) => ({ id, label }))
    .toSorted((a, b) => Number(b.id === remembered) - Number(a.id === remembered));
  const parts = [
    ...Object.entries(CLIENT_PARTS).flatMap(([tab, part]) =>
      subjectsOf(part, words, offered)
        .filter(({ id }) => part.isFor?.(roles, id) ?? true)
        .map(({ id, label }) => ({
          id: `client ${id} ${tab}`,
          icon: IconSettings,
          label: `${part.label} of ${label}`,
          words: part.words,
          onClick: () =>
            void navigate({
              to: '/clients/$id',
              params: { id: String(id) },
              search: { tab: tab as ClientTab },
            }),
        })),
    ),
    ...Object.entries(APP_PARTS).flatMap(([tab, part]) =>
      (part.isFor?.(roles) === false ? [] : subjectsOf(part, words, apps)).map(({ id, label }) => ({
        id: `app ${id} ${tab}`,
        icon: IconSettings,
        label: `${part.label} of ${label}`,
        words: part.words,
        onClick: () =>
          void (tab === 'usage'
            ? navigate({ to: '/usage', search: { app: id } })
            : navigate({
                to: '/apps/$id',
                params: { id },
                search: tab === 'maintenance' ? { do: tab } : { tab: tab as AppTab },
              })),
      })),
    ),
  ];
  return {
    people: people.map((person) => ({
      id: `person ${person.email}`,
      icon: IconUser,
      label: nameOf(person),
      description: person.email,
      onClick: () => void navigate({ to: '/people/$email', params: { email: person.email } }),
    })),
    personActions: actions.flatMap(({ label, words: others, search: place = {} }): Action[] =>
      name === ''
        ? [
            {
              id: `person-action ${label}`,
              icon: IconUserCog,
              label: `${label}…`,
              description: 'Type a name next',
              words: others,
              query: `${label.toLowerCase()} `,
              onClick: () => {},
            },
          ]
        : (named.data ?? []).map((person) => ({
            id: `person-action ${label} ${person.email}`,
            icon: IconUserCog,
            label: `${label} ${nameOf(person)}`,
            description: person.email,
            words: `${others} ${first}`,
            onClick: () =>
              void navigate({ to: '/people/$email', params: { email: person.email }, search: place }),
          })),
    ),
    invitations: invitations.map(({ id, email }) => ({
      id: `invitation ${id}`,
      icon: IconSend,
      label: email,
      onClick: () => void navigate({ to: '/invitations', search: { search: email } }),
    })),
    groups: (groups.data ?? []).map(({ id, client, name: label, client_name }) => ({
      id: `group ${id}`,
      icon: IconUsersGroup,
      label,
      description: client_name,
      onClick: () =>
        void navigate({
          to: '/groups/$client/$group',
          params: { client: String(client), group: String(id) },
        }),
    })),
    apps: apps.map(({ id, label, slug }) => ({
      id: `app ${id}`,
      icon: IconApps,
      label,
      description: slug,
      onClick: () => void navigate({ to: '/apps/$id', params: { id } }),
    })),
    clients: clients.map(({ id, name: label }) => ({
      id: `client ${id}`,
      icon: IconBuilding,
      label,
      onClick: () => void navigate({ to: '/clients/$id', params: { id: String(id) } }),
    })),
    parts: ranked(parts, words)
      .map(({ action }) => action)
      .slice(0, MAX_FOUND),
    isSearching: isSearching || queries.some((query) => query.isPlaceholderData || query.isLoading),
  };
};

const NOTHING_FOUND = {
  people: [],
  personActions: [],
  invitations: [],
  groups: [],
  apps: [],
  clients: [],
  parts: [],
  isSearching: false,
};

/**
 * For a part of a screen that the search names, such as “Sign-in”: the subjects that the other words name, or else the first ones.
 */
const subjectsOf = <T extends { label: string }>(
  part: { label: string; words: string },
  words: readonly string[],
  subjects: readonly T[],
): T[] => {
  // A single letter names nothing.
  const others = words.filter((word) => word.length < 2 || !hasPrefix(`${part.label} ${part.words}`, word));
  if (others.length === words.length) return [];
  return subjects
    .filter(({ label }) => scoreOf(others, label) > 0 || others.length === 0)
    .slice(0, MAX_SUBJECTS);
};
