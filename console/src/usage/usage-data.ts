import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { dayText, shortDayText } from '../components/date-text.tsx';
import type { Interval, Report } from './usage-filter.ts';

/** Newest first. */
export type UsagePeriod = Outputs['usage']['report'][number];

const reportQuery = (report: Report) =>
  trpc.usage.report.queryOptions(report, { placeholderData: keepPreviousData });

export const useReport = (report: Report) => useQuery(reportQuery(report));

/** By interval, oldest first. */
export const previousActions = (rows: readonly UsagePeriod[]): number[] =>
  rows.map(({ previous_actions }) => previous_actions).toReversed();

const DAY_MS = 24 * 3600 * 1000;

/** The number of days in a report, until today; 0 while it is loading. */
export const daysOf = (rows: readonly UsagePeriod[]): number => {
  const [newest, oldest] = [rows[0], rows.at(-1)];
  return newest && oldest ? (Date.parse(newest.end) - Date.parse(oldest.start)) / DAY_MS + 1 : 0;
};

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** `21 Nov 2026`, `16 Nov 2026 – 21 Nov 2026` or `Nov 2026`. */
export const periodLabel = (interval: Interval, start: string, end: string): string => {
  if (interval === 'month') return MONTH.format(new Date(start));
  return start === end ? dayText(start) : `${dayText(start)} – ${dayText(end)}`;
};

/** A point of a chart: the label of the interval, and the first day of it as `16 Nov`, or `Nov 2026`. */
export const namesOf = (interval: Interval, start: string, end: string) => ({
  label: periodLabel(interval, start, end),
  axis: interval === 'month' ? MONTH.format(new Date(start)) : shortDayText(start),
});
