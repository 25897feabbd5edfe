import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { problemOf } from '../../../routers/middleware/errors.ts';
import { isFault } from '../../lib/problems.ts';
import { EVENT_STREAM_TYPE } from './negotiation.ts';

/** Below the timeouts of proxies, such as 60 s. */
const HEARTBEAT_MS = 15_000;
/** Until a client connects again. */
const RETRY_MS = 2_000;

/** What a procedure yields: an id and its event, as tRPC's `tracked` makes them. */
type Tracked = readonly [id: string, event: unknown, ...rest: unknown[]];

/** Aborted when the caller disconnects. */
export const disconnectSignal = ({ raw }: FastifyReply): AbortSignal => {
  const disconnected = new AbortController();
  raw.once('close', () => disconnected.abort());
  return disconnected.signal;
};

/** Sends server-sent events as fast as the caller reads. The first byte is sent at once, so that the caller knows that it listens. */
export const sendEventStream = (reply: FastifyReply, events: AsyncIterable<Tracked>) => {
  // Proxies such as nginx would collect them.
  reply.type(EVENT_STREAM_TYPE).header('x-accel-buffering', 'no');
  if (reply.request.method === 'HEAD') return reply.send(Readable.from([]));
  return reply.send(Readable.from(textsOf(events), { highWaterMark: 1 }));
};

async function* textsOf(events: AsyncIterable<Tracked>): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n\n`;
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      yield* heartbeatsUntil(next);
      const { done, value } = await next;
      if (done) return;
      const [id, event] = value;
      yield `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
    }
  } catch (error) {
    // A shutdown, or a caller who may not listen any more: they connect again, and get the status of that.
    if (!isAbort(error) && isFault(problemOf(error))) throw error;
  }
}

/** Without an AbortSignal, whose error would cost as much as all else that an event takes here. */
async function* heartbeatsUntil(next: Promise<unknown>): AsyncGenerator<string> {
  let hasArrived = false;
  let wake = (): void => {};
  const arrive = (): void => {
    hasArrived = true;
    wake();
  };
  next.then(arrive, arrive);
  while (!hasArrived) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, HEARTBEAT_MS).unref();
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    if (!hasArrived) yield ':\n\n';
  }
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';
