import { timeText } from './time-text.ts';

export { timeText };

type Props = {
  date: Date | null;
  /** Shown if there is no date. */
  none?: string;
};

/** `22 Nov 2026, 21:36` in the time zone of the browser; the exact time and the zone as a tooltip. */
export const DateText = ({ date, none = 'Never' }: Props) =>
  date ? (
    <time className="nowrap" dateTime={date.toISOString()} title={EXACT.format(date)}>
      {timeText(date)}
    </time>
  ) : (
    none
  );

const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

/** `22 Nov 2026` for `2026-11-22`. */
export const dayText = (day: string): string => DAY.format(new Date(day));

const DAY_IN_SHORT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** `22 Nov` for `2026-11-22`. */
export const shortDayText = (day: string): string => DAY_IN_SHORT.format(new Date(day));

const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });

/** `22 Nov 2026` in the time zone of the browser. */
export const dateOf = (date: Date): string => DATE.format(date);

const DAY_OF_YEAR = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** `22 Nov` in the time zone of the browser, with the year if it is not the present one. */
export const shortDateOf = (date: Date, now = new Date()): string =>
  date.getFullYear() === now.getFullYear() ? DAY_OF_YEAR.format(date) : dateOf(date);

const HOUR_MS = 3_600_000;
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'long' });

/** `21:36` in the time zone of the browser. */
export const clockTimeOf = (date: Date): string => TIME.format(date);

/** The number of midnights between two times, in the time zone of the browser. */
const daysBetween = (from: Date, to: Date): number => {
  const dayOf = (date: Date): number => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return (dayOf(to) - dayOf(from)) / (24 * HOUR_MS);
};

/** `today`, `yesterday`, `Monday` or `3 Nov`. */
const recentDayOf = (date: Date, now: Date): string => {
  const days = daysBetween(date, now);
  if (days <= 0) return 'today';
  if (days === 1) return 'yesterday';
  return days < 7 ? WEEKDAY.format(date) : shortDateOf(date, now);
};

/** `12 min ago`, `today, 08:14`, `yesterday`, `Monday` or `3 Nov` in the time zone of the browser. */
export const agoOf = (date: Date, now = new Date()): string => {
  const minutes = Math.max(0, Math.floor((now.getTime() - date.getTime()) / 60_000));
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  const day = recentDayOf(date, now);
  return day === 'today' ? `today, ${TIME.format(date)}` : day;
};

/** `today`, `yesterday`, `Monday` or `3 Nov` for a day such as `2026-11-03`. */
export const dayAgoOf = (day: string, now = new Date()): string => recentDayOf(new Date(`${day}T00:00`), now);

/** `22 Nov 2026, 21:36:04 CET` */
export const exactTimeOf = (date: Date): string => EXACT.format(date);
