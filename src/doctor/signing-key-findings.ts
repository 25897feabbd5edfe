import { DAY_MS } from '../lib/clock.ts';
import { formatCount } from '../lib/format-count.ts';
import type { RatedKey } from '../services/gate/signing-keys.ts';
import { type Finding, findingsOf } from './finding.ts';

type Key = Pick<RatedKey, 'created_at' | 'state'>;

/** The running service replaces keys every hour. */
const LATE_MS = DAY_MS;

/** @param keys newest first */
export const judgeSigningKeys = (keys: readonly Key[], now: Date, signingKeyDays: number): Finding => {
  const { ok, warning, failure } = findingsOf('signing keys');
  const unreadable = keys.filter(({ state }) => state === 'unreadable');
  const usable = keys.filter(({ state }) => state !== 'unreadable' && state !== 'retired');
  const [newest] = usable;
  if (unreadable.length > 0)
    return warning(
      `Signing keys that SECRET_KEY does not decrypt: ${unreadable.length}.`,
      newest
        ? 'Expected for some minutes after a change of SECRET_KEY. Otherwise, give all instances the same one.'
        : 'Restore the SECRET_KEY of the service: with another one, it creates another key, and apps refuse older tickets.',
    );
  if (!newest) return ok('The service creates the key that signs tickets when it starts.');
  if (!keys.some(({ state }) => state === 'signing'))
    return failure(
      'No key signs tickets yet, so no app can be opened.',
      'Check the clock of the database: it was ahead when the keys were created.',
    );
  const ageMs = now.getTime() - newest.created_at.getTime();
  const message = `The newest key that signs tickets is ${formatCount(Math.floor(ageMs / DAY_MS), 'day')} old.`;
  return ageMs > signingKeyDays * DAY_MS + LATE_MS
    ? warning(
        `${message} SIGNING_KEY_DAYS is ${signingKeyDays}.`,
        'Start the service: its hourly maintenance replaces it. If it runs, its log has the reason.',
      )
    : ok(message);
};
