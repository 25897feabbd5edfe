import pLimit, { type LimitFunction } from 'p-limit';
import { Problem } from '../../lib/problems.ts';

/** Of the ten connections of the pool; the others stay free for other requests. */
const MAX_CONCURRENT_WRITES = 4;
/** Entries in memory that wait to be written, some KB each. */
const MAX_WAITING_ENTRIES = 100_000;

const TOO_MUCH = { detail: 'Too much usage is being written at the moment. Send it again shortly.' };

export type UsageWriteLimiter = ReturnType<typeof createUsageWriteLimiter>;

/**
 * Limits concurrent writes of usage: one per app, a few in all. Without it, writers of a busy app, or of an app whose rollups
 * are rebuilt, would wait for its lock and occupy all connections.
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
