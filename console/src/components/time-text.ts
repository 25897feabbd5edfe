/** `22 Nov 2026, 21:36` in the time zone of the browser. */
export const timeText = (date: Date): string => SHORT.format(date);

const SHORT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
