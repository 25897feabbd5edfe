import { DAY_MS } from '../../lib/clock.ts';

const QUOTE = 0x22;
const ZERO = 0x30;
/** `"2026-11-21T12:00:00.000Z"` */
export const INSTANT_BYTES = 26;
const YEAR_0_MS = Date.parse('0000-01-01T00:00:00Z');
const YEAR_10000_MS = Date.parse('+010000-01-01T00:00:00Z');
/** From 0000-03-01, where the years of the sum below begin, to 1970-01-01. */
const DAYS_TO_1970 = 719_468;
const DAYS_OF_ERA = 146_097;
const DASH = 0x2d;
const COLON = 0x3a;
const POINT = 0x2e;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/** Others are written with a sign and six digits. */
export const isFourDigitYear = (ms: number): boolean => ms >= YEAR_0_MS && ms < YEAR_10000_MS;

/** The day that was written last, up to the time: rows of a list are often of one day. */
let lastDay = Number.NaN;
const LAST_DATE = new Uint8Array('"2026-11-21T'.length);

/** Writes a moment in quotes at a place, by ISO 8601 in UTC, and answers where it ends: several times as fast as `Date` can. */
export const writeInstant = (own: Buffer, start: number, ms: number): number => {
  const day = Math.floor(ms / DAY_MS);
  if (day !== lastDay) writeDate(day);
  let at = start;
  for (let index = 0; index < LAST_DATE.length; index += 1) own[at++] = LAST_DATE[index] as number; // inside of the array
  // Whole numbers of 32 bits, which are divided in less time.
  const time = (ms - day * DAY_MS) | 0;
  const seconds = (time / 1000) | 0;
  const minutes = (seconds / 60) | 0;
  at = digits(own, at, (minutes / 60) | 0, 2);
  own[at++] = COLON;
  at = digits(own, at, minutes % 60, 2);
  own[at++] = COLON;
  at = digits(own, at, seconds % 60, 2);
  own[at++] = POINT;
  at = digits(own, at, time % 1000, 3);
  own[at++] = LETTER_Z;
  own[at++] = QUOTE;
  return at;
};

/** Days become years by eras of 400 that begin in March, so that leap days come last (Hinnant, `civil_from_days`). */
const writeDate = (days: number): void => {
  const shifted = days + DAYS_TO_1970;
  const era = Math.floor(shifted / DAYS_OF_ERA);
  const dayOfEra = shifted - era * DAYS_OF_ERA;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);

  let at = 0;
  LAST_DATE[at++] = QUOTE;
  at = digits(LAST_DATE, at, year, 4);
  LAST_DATE[at++] = DASH;
  at = digits(LAST_DATE, at, month, 2);
  LAST_DATE[at++] = DASH;
  at = digits(LAST_DATE, at, day, 2);
  LAST_DATE[at] = LETTER_T;
  lastDay = days;
};

const digits = (own: Uint8Array, start: number, value: number, count: number): number => {
  let rest = value;
  for (let at = start + count - 1; at >= start; at -= 1) {
    own[at] = ZERO + (rest % 10);
    rest = (rest / 10) | 0;
  }
  return start + count;
};
