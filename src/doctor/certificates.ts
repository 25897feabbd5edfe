import type { X509Certificate } from 'node:crypto';
import { DAY_MS } from '../lib/clock.ts';
import { formatCount } from '../lib/format-count.ts';
import { findingsOf } from './finding.ts';

/** Let's Encrypt renews 30 days before the end: with less, a renewal has failed. */
const MIN_DAYS = 21;

type Valid = Pick<X509Certificate, 'validToDate'>;

/** @param what names the certificate in the middle of a sentence */
export const checkExpiry = (check: string, what: string, { validToDate }: Valid, now = Date.now()) => {
  const { ok, warning, failure } = findingsOf(check);
  const days = Math.floor((validToDate.getTime() - now) / DAY_MS);
  const date = validToDate.toISOString().slice(0, 10);
  if (days < 0) return failure(`${what} expired on ${date}.`, 'Renew it.');
  if (days < MIN_DAYS) {
    const left = days === 0 ? 'within a day' : `in ${formatCount(days, 'day')}`;
    return warning(`${what} expires ${left}, on ${date}.`, 'Renew it.');
  }
  return ok(`${what} is valid until ${date}.`);
};
