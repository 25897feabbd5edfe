import type { Inputs } from '../api.ts';
import { idOf, oneOf, textOf } from '../components/search-params.ts';
import { ROLES } from '../session/roles.ts';

type Query = Extract<Inputs['users']['list'], object>;

/** The filter of the list of people, from the address. */
export type PeopleFilter = Pick<
  Query,
  | 'search'
  | 'is_active'
  | 'app'
  | 'group'
  | 'client'
  | 'role'
  | 'never_logged_in'
  | 'password_expired'
  | 'second_factor'
  | 'sort'
> & {
  /** People who have not logged in for this many days. */
  idle_days?: number | undefined;
  /** People who neither logged in nor used an app for this many days. */
  unseen_days?: number | undefined;
  /** People who did not use the app for this many days, today included. Counts with an app only. */
  app_unused_days?: number | undefined;
  /** The shown columns, separated by commas; default: those that the user has chosen. */
  columns?: string | undefined;
  /** The saved view that was opened. */
  view?: number | undefined;
};

export const SORTS = ['email', 'name', 'last_login', 'date_joined'] as const;
export type Sort = (typeof SORTS)[number];

/** Reads the filter from the address. A value of another type counts as none; the service checks the rest. */
export const peopleFilter = (address: Record<string, unknown>): PeopleFilter => ({
  search: textOf(address.search),
  is_active: booleanOf(address.is_active),
  app: textOf(address.app),
  group: numberOf(address.group),
  client: numberOf(address.client),
  role: oneOf(address.role, [...ROLES.map(({ name }) => name), 'member' as const]),
  never_logged_in: booleanOf(address.never_logged_in),
  password_expired: booleanOf(address.password_expired),
  second_factor: booleanOf(address.second_factor),
  idle_days: numberOf(address.idle_days),
  unseen_days: numberOf(address.unseen_days),
  app_unused_days: idOf(address.app_unused_days),
  columns: textOf(address.columns),
  view: idOf(address.view),
  sort: oneOf(
    address.sort,
    SORTS.flatMap((sort) => [sort, `-${sort}`] as const),
  ),
});

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const booleanOf = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);

const DAY_MS = 24 * 3600 * 1000;

/** Converts to the conditions of the service. Days begin at midnight UTC, so that the query stays the same during a day. */
export const conditionsOf = ({
  idle_days,
  unseen_days,
  app_unused_days,
  sort: _sort,
  columns: _columns,
  view: _view,
  ...conditions
}: PeopleFilter) => ({
  ...conditions,
  ...(idle_days !== undefined && { last_login_before: midnight(idle_days) }),
  ...(unseen_days !== undefined && { last_seen_before: midnight(unseen_days) }),
  ...(conditions.app !== undefined &&
    app_unused_days !== undefined && { last_used_before: midnight(app_unused_days - 1) }),
});

const midnight = (daysAgo: number): Date => new Date((Math.floor(Date.now() / DAY_MS) - daysAgo) * DAY_MS);
