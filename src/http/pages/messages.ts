import type { Problem } from '../../lib/problems.ts';

/** What people are told, where the sentence of the table is meant for those who write programs. */
export const sentenceOf = (problem: Problem): string => {
  switch (problem.code) {
    case 'csrf-failed':
      return 'This form has expired. Please try again.';
    case 'invalid-credentials':
      return 'That email address and password do not belong together. Please check both and try again.';
    case 'throttled':
      return `That was tried too many times. Try again in ${waitOf(problem.retryAfterSeconds)}.`;
    case 'invalid-input':
      return 'Nearly there. Please look at what is marked below.';
    default:
      return problem.message;
  }
};

/** A wait in words, rounded up: who comes back then must not be too early. */
export const waitOf = (seconds = 60): string => {
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 1) return 'a minute';
  if (minutes < 60) return `${minutes} minutes`;
  const hours = Math.ceil(minutes / 60);
  return hours === 1 ? 'an hour' : `${hours} hours`;
};

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

/** `21 November 2026`. The reader's own time zone is unknown without a script. */
export const dayOf = (instant: Date): string => DAY.format(instant);

/** `21 November 2026 at 12:00 UTC`. */
export const momentOf = (instant: Date): string => `${MOMENT.format(instant)} UTC`;
