import type { Problem, ProblemCode } from '../../lib/problems.ts';

/** The message of a problem for people who use a browser; the default messages address developers. */
export const userMessage = ({ code, message, retryAfterSeconds }: Problem): string => {
  if (code === 'throttled') return `Too many attempts. Try again in ${formatWait(retryAfterSeconds)}.`;
  return MESSAGES[code] ?? message;
};

const MESSAGES: Partial<Record<ProblemCode, string>> = {
  'csrf-failed': 'This form has expired. Please try again.',
  'invalid-credentials': 'Incorrect email address or password.',
  'invalid-input': 'Please correct the errors below.',
};

/** Formats a wait, rounded up so that the user does not come back too early. */
export const formatWait = (seconds = 60): string => {
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 1) return 'a minute';
  if (minutes < 60) return `${minutes} minutes`;
  const hours = Math.ceil(minutes / 60);
  return hours === 1 ? 'an hour' : `${hours} hours`;
};

const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const DATE_TIME = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
});

/** `21 Nov 2026`, in UTC: pages have no script that could read the browser's time zone. */
export const formatDate = (date: Date): string => DATE.format(date);

/** `21 Nov 2026, 12:00 UTC` */
export const formatDateTime = (date: Date): string => `${DATE_TIME.format(date)} UTC`;

/** The first match wins: many browsers also include the names of other browsers. */
const BROWSERS: [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b((Headless)?Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bVersion\/\S+ .*\bSafari\//, 'Safari'],
];

const SYSTEMS: [RegExp, string][] = [
  [/\b(iPhone|iPod)\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'Mac'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** Describes a `User-Agent` header, e.g. `Firefox on Linux`. */
export const describeUserAgent = (userAgent: string): string => {
  const findName = (names: [RegExp, string][]) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const system = findName(SYSTEMS);
  return (findName(BROWSERS) ?? 'Unknown browser') + (system === undefined ? '' : ` on ${system}`);
};
