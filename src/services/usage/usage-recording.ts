import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Clock, DAY_MS, MINUTE_MS } from '../../core/clock.ts';
import { type FieldErrors, invalid } from '../../core/problems.ts';
import type { Actor } from '../actor.ts';
import { overseenApp } from '../apps/app-rows.ts';
import type { Idempotency, Once } from '../idempotency.ts';
import { writeUsage } from './usage-log.ts';
import { completed, type UsageElement, type UsageReport } from './usage-reports.ts';
import type { UsageWriters } from './usage-writers.ts';

/** `repeated` were in the log already. */
export type Recorded = { recorded: number; repeated: number };

/** Clocks of platforms go a little ahead of ours. */
const MAX_AHEAD_MS = 5 * MINUTE_MS;
/** More than anybody reads, and few enough to answer. */
const MAX_FAULTS = 1_000;
type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  idempotency: Idempotency;
  usageWriters: UsageWriters;
  usageRetentionDays: number;
};

export const createUsageRecording = ({
  em,
  clock,
  idempotency,
  usageWriters: writers,
  usageRetentionDays,
}: Deps) => ({
  /**
   * Writes what happened in an app: all of it, or nothing when one element is at fault. Elements with an `id` are
   * written once, however often they come; so is everything under one idempotency key.
   * @throws Problem `not-found`, `not-allowed`, `invalid-input` by `entries.{index}.{field}`, `idempotency-key-reused`,
   * `overloaded`
   */
  record: async (
    actor: Actor,
    appId: string,
    elements: readonly UsageElement[],
    once: Once | null,
  ): Promise<Recorded> => {
    await overseenApp(em, actor, appId);
    const input = elements.map(({ value }) => value);
    if (input.includes(null)) throw invalid(faultsOf(elements, clock.now(), usageRetentionDays));

    const operation = `usage.record ${appId}`;
    const request = once && { once, operation, input: JSON.stringify(input) };
    const record = async (tx: SqlEntityManager): Promise<Recorded> => {
      const now = clock.now();
      // Not before: a repeat gets the first answer, however old its entries have become.
      const faults = faultsOf(elements, now, usageRetentionDays);
      if (Object.keys(faults).length > 0) throw invalid(faults);
      const reports = input.filter((report) => report !== null);
      const entries = await completed(tx, { actor, appId, now }, reports);
      const recorded = await writeUsage(tx, appId, entries, now);
      return { recorded, repeated: reports.length - recorded };
    };
    return writers.within(appId, elements.length, () =>
      idempotency.once<Recorded>(actor, request, (write) => write(record)),
    );
  },
});

/** All faults of all elements at once. */
const faultsOf = (elements: readonly UsageElement[], now: Date, retentionDays: number): FieldErrors => {
  const fields: FieldErrors = {};
  let count = 0;
  for (const [index, { value, faults }] of elements.entries()) {
    const all = value ? timeFaults(value, now, retentionDays) : faults;
    for (const [field, messages] of Object.entries(all)) {
      fields[`entries.${index}.${field}`] = messages;
      count += 1;
    }
    if (count >= MAX_FAULTS) break;
  }
  return fields;
};

const timeFaults = ({ timestamp }: UsageReport, now: Date, retentionDays: number): FieldErrors => {
  if (!timestamp) return {};
  const ageMs = now.getTime() - timestamp.getTime();
  if (ageMs < -MAX_AHEAD_MS) return { timestamp: ['Must not be more than 5 minutes ahead.'] };
  const isKept = ageMs <= retentionDays * DAY_MS;
  return isKept ? {} : { timestamp: [`Must not be older than the ${retentionDays} days that are kept.`] };
};
