import { useQuery } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { canView, type Roles, whoMay } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

export type View = Outputs['listViews']['list'][number];
export type List = View['list'];

/** The search of a list, as in its address. `view`: the id of the saved view that was opened. */
export type ListSearch = { client?: number | undefined; view?: number | undefined };
type Search = Record<string, unknown>;

export const PATHS = { people: '/people', apps: '/apps', audit: '/audit', mails: '/mails' } as const;

/** After how many days without use people and apps count as unused. Home uses the same numbers: `attention.get` counts them. */
export const UNUSED_DAYS = { people: 90, apps: 30 } as const;
/** The choices of these numbers. */
export const DAYS_WITHOUT_USE = [30, 60, 90, 180, 365] as const;

/** The view `Unused` of the people: who may log in, but neither did nor used an app for these days. */
export const unusedPeople = (days: number = UNUSED_DAYS.people) =>
  ({ is_active: true, unseen_days: days, sort: 'last_login' }) as const;

/**
 * The people with access to an app, which are its seats: active people who have it by a grant or a group. Roles that open every app do not
 * count.
 */
export const peopleWithAccess = ({ slug }: { slug: string }) => ({ app: slug, is_active: true }) as const;

export const unusedApps = (days: number = UNUSED_DAYS.apps) => ({ unused_days: days });

type BuiltIn = {
  name: string;
  search: Search;
  /** A key with any value. */
  varies?: string;
  isFor?: (roles: Roles) => boolean;
};

const BUILT_IN: Record<List, readonly [BuiltIn, ...BuiltIn[]]> = {
  people: [
    { name: 'All people', search: {} },
    { name: 'Unused', search: unusedPeople(), varies: 'unseen_days' },
    { name: 'Never logged in', search: { is_active: true, never_logged_in: true } },
    {
      name: 'Without a second factor',
      search: { is_active: true, second_factor: false },
      isFor: whoMay('manage-credentials'),
    },
    { name: 'Password expired', search: { password_expired: true } },
  ],
  apps: [
    { name: 'All apps', search: {} },
    { name: 'Unused', search: unusedApps(), varies: 'unused_days' },
    { name: 'New, not used yet', search: { never_used: true } },
    { name: 'In maintenance', search: { in_maintenance: true } },
  ],
  audit: [{ name: 'All entries', search: {} }],
  mails: [
    { name: 'All mails', search: {} },
    { name: 'Failed', search: { status: 'failed' } },
    { name: 'Retrying', search: { status: 'retrying' } },
  ],
};

export const builtInViews = (list: List, roles: Roles): BuiltIn[] =>
  BUILT_IN[list].filter(({ isFor = () => true }) => isFor(roles));

/** Without the client, which a view has beside its search. */
export const storedSearch = (search: object): Search =>
  Object.fromEntries(
    Object.entries(search).filter(([key, value]) => value !== undefined && !['client', 'view'].includes(key)),
  );

const textOf = (search: object, ...ignored: string[]): string =>
  JSON.stringify(
    Object.entries(storedSearch(search))
      .filter(([key]) => !ignored.includes(key))
      .toSorted(([a], [b]) => a.localeCompare(b)),
  );

export const isSameSearch = (one: object, other: object): boolean => textOf(one) === textOf(other);

/** Order and columns do not make another view of a built-in one. */
export const isBuiltIn = ({ search, varies = '' }: BuiltIn, shown: object): boolean =>
  textOf(search, 'sort', 'columns', varies) === textOf(shown, 'sort', 'columns', varies) &&
  varies in search === varies in storedSearch(shown);

/** Many: each is a row of a menu. */
const MAX_VIEWS = 200;

/** The saved views of a list that the user may open, by name. */
export const useViews = (list: List, client: number | undefined): View[] =>
  byName(useQuery(trpc.listViews.list.queryOptions({ list, client, limit: MAX_VIEWS })).data);

/** The views of all lists that the user has pinned, by name. */
export const usePinnedViews = (enabled: boolean): View[] =>
  byName(useQuery(trpc.listViews.list.queryOptions({ is_pinned: true, limit: MAX_VIEWS }, { enabled })).data);

const byName = (views: View[] = []): View[] => views.toSorted((a, b) => a.name.localeCompare(b.name));

/** The search of a list that opens a view: with its own client, or with the chosen one. */
export const useSearchOf = (): ((view: View, chosen: number | undefined) => ListSearch) => {
  // Without a wait: the search over everything must get the first key.
  const enabled = canView(useSession().roles);
  const clients = useQuery(trpc.clients.list.queryOptions({}, { enabled })).data ?? [];
  const hasSeveralClients = clients.length > 1;
  return ({ id, client, search }, chosen) => ({
    ...search,
    view: id,
    ...(hasSeveralClients && { client: client ?? chosen }),
  });
};

/** The views that the palette offers beside the screens: the built-in ones that narrow a list, and the pinned ones. */
export const useOfferedViews = (
  chosen: number | undefined,
): { list: List; name: string; search: ListSearch }[] => {
  const { roles } = useSession();
  const pinned = usePinnedViews(canView(roles));
  const searchOf = useSearchOf();
  const lists = Object.keys(PATHS) as List[];
  return [
    ...lists.flatMap((list) =>
      builtInViews(list, roles)
        .slice(1)
        .map(({ name, search }) => ({ list, name, search: { ...search, client: chosen } })),
    ),
    ...pinned.map((view) => ({ list: view.list, name: view.name, search: searchOf(view, chosen) })),
  ];
};
