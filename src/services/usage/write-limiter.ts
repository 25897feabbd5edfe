import pLimit, { type LimitFunction } from 'p-limit';
import { Problem } from '../../lib/problems.ts';

/** Of the pool's ten connections: whoever writes usage leaves the others to everybody else. */
const MAX_CONCURRENT_WRITES = 4;
/** Entries that wait to be written. They are in memory, some KB each. */
const MAX_WAITING_ENTRIES = 100_000;

const TOO_MUCH = { detail: 'Too much usage is being written at the moment. Send it again shortly.' };

export type UsageWriteLimiter = ReturnType<typeof createUsageWriteLimiter>;

/**
 * Lets those who write usage of one app in one by one, and few of them all in all. They would wait for each other in the
 * database anyway, each with a connection: one busy app, or one whose rollups are counted anew, would take all of them.
 */
export const createUsageWriteLimiter = () => {
  const all = pLimit(MAX_CONCURRENT_WRITES);
  const apps = new Map<string, { lane: LimitFunction; users: number }>();
  let waiting = 0;

  return {
    /** @throws Problem `overloaded` when too many entries are waiting */
    within: async <T>(appId: string, entries: number, work: () => Promise<T>): Promise<T> => {
      if (waiting > 0 && waiting + entries > MAX_WAITING_ENTRIES) throw new Problem('overloaded', TOO_MUCH);
      const app = apps.get(appId) ?? { lane: pLimit(1), users: 0 };
      apps.set(appId, app);
      app.users += 1;
      waiting += entries;
      try {
        return await app.lane(() => all(work));
      } finally {
        waiting -= entries;
        app.users -= 1;
        if (app.users === 0) apps.delete(appId);
      }
    },
  };
};
