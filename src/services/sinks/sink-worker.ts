import type { EventSink } from '../../adapters/event-sinks/event-sink.ts';
import { reasonOf } from '../../lib/errno.ts';
import type { Logger } from '../../lib/logger.ts';
import { createQueueWorker, gather, type WorkerOptions } from '../outbox/queue-worker.ts';
import type { ClaimedBatch, SinkName, SinkQueue } from './sink-queue.ts';

/** Shorter than the lease. */
const LIMIT_MS = 40_000;

type Deps = WorkerOptions & {
  queue: SinkQueue;
  sinks: readonly EventSink[];
  logger: Pick<Logger, 'info' | 'warn'>;
};

/** Sends the events of the installation to sinks, batch after batch, and does not continue before one was received. */
export const createSinkWorker = (deps: Deps) => {
  const { queue, sinks, listen, logger } = deps;
  const closing = new AbortController();
  const byName = new Map(sinks.map((sink) => [sink.name, sink]));
  /** A write to a disk that hangs outlasts its lease. */
  const busy = new Set<SinkName>();
  const idle = (): SinkName[] => [...byName.keys()].filter((name) => !busy.has(name));

  /** Null: all were received. */
  const attempt = async ({ name, events }: ClaimedBatch): Promise<string | null> => {
    const limit = AbortSignal.timeout(LIMIT_MS);
    try {
      await byName.get(name)?.write(events, AbortSignal.any([limit, closing.signal]));
      return null;
    } catch (error) {
      return limit.aborted ? 'there was no answer in time' : reasonOf(error);
    }
  };

  /** Once for each outage. */
  const log = ({ name: sink, failing_since }: ClaimedBatch, reason: string | null): void => {
    if (reason !== null && !failing_since) logger.warn({ sink, reason }, 'a sink takes no events; retrying');
    if (reason === null && failing_since) logger.info({ sink }, 'the sink takes events again');
  };

  return createQueueWorker(
    {
      name: 'sink',
      maxInFlight: sinks.length,
      claim: () => queue.claim(idle()),
      release: queue.release,
      msUntilDue: () => queue.msUntilDue(idle()),
      deliver: async (batch, store) => {
        busy.add(batch.name);
        try {
          const failure = await attempt(batch);
          if (failure !== null && closing.signal.aborted) return await store(() => queue.release([batch]));
          log(batch, failure);
          await store(() => queue.record(batch, failure));
        } finally {
          busy.delete(batch.name);
        }
      },
      close: () => closing.abort(),
    },
    { ...deps, listen: (onHeard) => listen(gather(onHeard)) },
  );
};
