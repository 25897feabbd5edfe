/** Normalizes texts that people type in several ways. */

/** RFC 8265 §4.2: composes letters, and turns any space into the ASCII one, whichever keyboard produced them. */
export const preparePassword = (password: string): string =>
  password.replaceAll(/\p{Zs}/gu, ' ').normalize('NFC');

/** A code without spaces, dashes and invisible characters. */
export const prepareCode = (code: string): string =>
  code
    .normalize('NFKC')
    .replaceAll(/[\s\p{Pd}\p{Cf}\u2212]/gu, '')
    .toLowerCase();

/** Accepts a space instead of the `T`, as Python writes it, and instead of the `+`, which a URL turns into a space. */
const INSTANT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+ -]\d\d(?::?\d\d)?)$/i;

/** A time of ISO 8601 with its UTC offset, as Python, Django and JavaScript write it; null for other texts. */
export const readInstant = (text: string): Date | null => {
  const [, day = '', time, zone = ''] = INSTANT.exec(text.trim()) ?? [];
  if (!isCalendarDate(day)) return null;
  const offset = zone
    .replace(' ', '+')
    .replace(/(\d\d):?(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
  const instant = new Date(`${day}T${time}${offset}`);
  return Number.isNaN(instant.getTime()) ? null : instant;
};

/** Excludes dates such as 2026-02-30, which `Date` would read as March 2. */
export const isCalendarDate = (text: string): boolean => {
  const day = new Date(text);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
};

const INVISIBLE = /[\s\p{Cf}]/u;

/** Without spaces and invisible characters at both ends: mail programs and documents add them to copied text. */
export const trimInvisible = (text: string): string => {
  let [start, end] = [0, text.length];
  while (start < end && INVISIBLE.test(text.charAt(start))) start += 1;
  while (end > start && INVISIBLE.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
};
