import { CHART_DAYS } from '../charts/chart-days.ts';
import { idOf, oneOf, textOf } from '../components/search-params.ts';

const INTERVALS = ['day', 'week', 'month'] as const;
export type Interval = (typeof INTERVALS)[number];

type PeriodChoice = { value: string; label: string; interval: Interval; periods: number };

/** The periods of all charts of usage. */
export const PERIODS = [
  { value: '28d', label: `${CHART_DAYS} days`, interval: 'day', periods: CHART_DAYS },
  { value: '12w', label: '12 weeks', interval: 'week', periods: 12 },
  { value: '26w', label: '26 weeks', interval: 'week', periods: 26 },
  { value: '12m', label: '12 months', interval: 'month', periods: 12 },
  { value: '24m', label: '24 months', interval: 'month', periods: 24 },
] as const satisfies readonly [PeriodChoice, ...PeriodChoice[]];

const PERIOD_VALUES = PERIODS.map(({ value }) => value);
export type Period = (typeof PERIODS)[number]['value'];

/** The period in an address, also in one of earlier versions, which had an interval. */
export const periodIn = ({ period, interval }: Record<string, unknown>): Period | undefined =>
  oneOf(period, PERIOD_VALUES) ?? PERIODS.find((one) => one.interval === interval)?.value;

/** The interval and the number of intervals of a period. */
export const spanOf = (period: Period | undefined) => {
  const { interval, periods } = PERIODS.find(({ value }) => value === period) ?? PERIODS[0];
  return { interval, periods };
};

const WEEK_DAYS = 7;

/**
 * Whether usage reaches back to the start of the previous period: a percentage of less would show growth that is none. Days without
 * use, such as weekends, are no gap until they are a week.
 * @param actions of the intervals of the previous period, oldest first
 */
export const isWholePeriod = (actions: readonly number[], interval: Interval): boolean =>
  actions.slice(0, interval === 'day' ? WEEK_DAYS : 1).some((count) => count > 0);

/** Without the newest one, which has not ended: percentages compare only whole intervals. @param intervals oldest first */
export const ended = <T>(intervals: readonly T[]): T[] => intervals.slice(0, -1);

/** What a percentage compares: `27 full days against the 27 before: 985 against 920`. */
export const comparisonText = (
  { interval, periods }: { interval: Interval; periods: number },
  { value, before }: { value: number; before: number },
): string => {
  const count = periods - 1;
  const numbers = `${value.toLocaleString()} against ${before.toLocaleString()}`;
  return `${count} full ${interval}${count === 1 ? '' : 's'} against the ${count} before: ${numbers}`;
};

/** More lines than these look alike in one chart. */
export const MAX_COMPARED = 5;

/** Whose usage is shown, from the address. */
export type UsageFilter = {
  client?: number | undefined;
  /** Ids of apps, separated by commas; two to five are compared. */
  app?: string | undefined;
  /** Id of a stack of the app. */
  stack?: string | undefined;
  email?: string | undefined;
  period?: Period | undefined;
};

/** Reads the filter from the address. A value of another type counts as none; the service checks the rest. */
export const usageFilter = (address: Record<string, unknown>): UsageFilter => ({
  client: idOf(address.client),
  app: textOf(address.app),
  stack: textOf(address.stack),
  email: textOf(address.email),
  period: periodIn(address),
});

export const appsIn = ({ app }: UsageFilter): string[] => app?.split(',').slice(0, MAX_COMPARED) ?? [];

const AND = new Intl.ListFormat('en-GB', { type: 'conjunction' });

/** `Sales, Churn and Fleet`. */
export const listed = (labels: readonly string[]): string => AND.format(labels);

/** The query of the service. An app belongs to one client, so the client would not limit it further. Of several apps, the first. */
export const reportOf = ({ client, stack, email, period, ...filter }: UsageFilter) => {
  const [app] = appsIn(filter);
  return { ...spanOf(period), ...(app === undefined ? { client, email } : { app_id: app, stack, email }) };
};

export type Report = ReturnType<typeof reportOf>;
