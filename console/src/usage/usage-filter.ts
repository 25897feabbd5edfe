import { idOf, oneOf, textOf } from '../components/search-params.ts';

export const INTERVALS = ['day', 'week', 'month'] as const;
export type Interval = (typeof INTERVALS)[number];

/** How many periods of each interval can be shown. Days are whole weeks, so that each is compared with the same weekday. */
export const PERIODS = {
  day: [28, 84, 364],
  week: [12, 26, 52],
  month: [6, 12, 24],
} as const satisfies Record<Interval, readonly [number, ...number[]]>;

/** Whose usage is shown, from the address. */
export type UsageFilter = {
  client?: number | undefined;
  /** Id of an app. */
  app?: string | undefined;
  /** Id of a stack of the app. */
  stack?: string | undefined;
  email?: string | undefined;
  interval?: Interval | undefined;
  periods?: number | undefined;
};

/** Reads the filter from the address. A value of another type counts as none; the service checks the rest. */
export const usageFilter = (address: Record<string, unknown>): UsageFilter => ({
  client: idOf(address.client),
  app: textOf(address.app),
  stack: textOf(address.stack),
  email: textOf(address.email),
  interval: oneOf(address.interval, INTERVALS),
  periods: idOf(address.periods),
});

/** The query of the service. An app belongs to one client, so the client would not limit it further. */
export const reportOf = ({ client, app, stack, email, interval = 'day', periods }: UsageFilter) => ({
  interval,
  periods: PERIODS[interval].find((count) => count === periods) ?? PERIODS[interval][0],
  ...(app === undefined ? { client, email } : { app_id: app, stack, email }),
});

export type Report = ReturnType<typeof reportOf>;
