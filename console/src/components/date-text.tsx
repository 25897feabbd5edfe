type Props = {
  date: Date | null;
  /** Instead of a date. */
  none?: string;
};

/** `22 Nov 2026, 21:36` in the time zone of the browser; the exact time and the zone as a tooltip. */
export const DateText = ({ date, none = 'never' }: Props) =>
  date ? (
    <time className="nowrap" dateTime={date.toISOString()} title={EXACT.format(date)}>
      {timeText(date)}
    </time>
  ) : (
    none
  );

/** `22 Nov 2026, 21:36` in the time zone of the browser. */
export const timeText = (date: Date): string => SHORT.format(date);

const SHORT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

/** `22 Nov 2026` for `2026-11-22`. */
export const dayText = (day: string): string => DAY.format(new Date(day));

const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });

/** `22 Nov 2026` in the time zone of the browser. */
export const dateOf = (date: Date): string => DATE.format(date);

const DAY_OF_YEAR = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** `22 Nov` in the time zone of the browser, with the year if it is another one. */
export const shortDateOf = (date: Date, now = new Date()): string =>
  date.getFullYear() === now.getFullYear() ? DAY_OF_YEAR.format(date) : dateOf(date);
