import type { SqlEntityManager } from '@mikro-orm/postgresql';
import pLimit, { type LimitFunction } from 'p-limit';
import type { Transact } from '../../db/pipeline.ts';
import { type Clock, DAY_MS, MINUTE_MS } from '../../lib/clock.ts';
import { type FieldErrors, invalid, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { requireViewableApp } from '../apps/app-rows.ts';
import type { Idempotency, IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UsageReports } from './usage-columns.ts';
import { enrichReports, hasUntimedKeys } from './usage-enrichment.ts';
import { writeColumns, writeColumnsPipelined } from './usage-log.ts';

/** `duplicates` were already in the log. */
export type RecordingResult = { inserted: number; duplicates: number };

/** Tolerates clocks of platforms that are ahead. */
const MAX_AHEAD_MS = 5 * MINUTE_MS;
/** Bounds the size of the response. */
const MAX_FAULTS = 1_000;
type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  idempotency: Idempotency;
  usageWriteLimiter: UsageWriteLimiter;
  transact: Transact;
  usageRetentionDays: number;
};

export const createUsageRecording = ({
  em,
  clock,
  idempotency,
  usageWriteLimiter: writers,
  usageRetentionDays,
  transact,
}: Deps) => {
  const writePipelined: typeof writeColumns = (unit, ...args) =>
    writeColumnsPipelined({ em: unit, transact }, ...args);
  return {
    /**
     * Writes all entries, or none if one is invalid. Entries with an `id` are written once, and so is a request with an
     * idempotency key.
     * @throws Problem `not-found`, `forbidden`, `invalid-input` by `entries.{index}.{field}`, `idempotency-key-reused`,
     * `overloaded`
     */
    record: async (
      actor: Actor,
      appId: string,
      reports: UsageReports,
      idempotencyKey: IdempotencyKey | null,
    ): Promise<RecordingResult> => {
      await requireViewableApp(em, actor, appId);
      if (reports.faults.size > 0) throw invalid(faultsOf(reports, clock.now(), usageRetentionDays));

      const operation = `usage.record ${appId}`;
      const request = idempotencyKey && { idempotencyKey, operation, input: requestKey(reports) };
      const count = reports.times.length;
      const recordBy = async (
        write: typeof writeColumns,
        unit: SqlEntityManager,
      ): Promise<RecordingResult> => {
        const now = clock.now();
        // Not earlier: a repeated request gets the first response, even if its entries are too old by now.
        const faults = faultsOf(reports, now, usageRetentionDays);
        if (Object.keys(faults).length > 0) throw invalid(faults);
        const columns = await enrichReports(unit, { actor, appId, now }, reports);
        const inserted = await write(unit, appId, columns, now);
        return { inserted, duplicates: count - inserted };
      };
      // An idempotency key is claimed, and untimed ids are looked up, in the transaction of the write.
      if (request === null && !hasUntimedKeys(reports) && !em.isInTransaction()) {
        return writers.within(appId, count, () => recordBy(writePipelined, em));
      }
      return writers.within(appId, count, () =>
        idempotency.runOnce<RecordingResult>(actor, request, (write) =>
          write((tx) => recordBy(writeColumns, tx)),
        ),
      );
    },
  };
};

/** The same for equal reports. */
const requestKey = ({ faults: _, ...columns }: UsageReports): string => JSON.stringify(columns);

const faultsOf = ({ times, faults }: UsageReports, now: Date, retentionDays: number): FieldErrors => {
  const fields: FieldErrors = {};
  let count = 0;
  for (const [index, time] of times.entries()) {
    const all = faults.get(index) ?? timeFaults(time, now, retentionDays);
    if (all === null) continue;
    for (const [field, messages] of Object.entries(all)) {
      fields[`entries.${index}.${field}`] = messages;
      count += 1;
    }
    if (count >= MAX_FAULTS) break;
  }
  return fields;
};

const timeFaults = (time: number, now: Date, retentionDays: number): FieldErrors | null => {
  const ageMs = now.getTime() - time;
  if (ageMs < -MAX_AHEAD_MS) return { timestamp: ['Must not be more than 5 minutes ahead.'] };
  return ageMs > retentionDays * DAY_MS
    ? { timestamp: [`Must not be older than the ${retentionDays} days that are kept.`] }
    : null;
};

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
