import type { TRPCClient } from '@trpc/client';
import type { AppRouter } from './app-router.ts';
import { isProblem, retryAfterSeconds } from './errors.ts';
import type { RouterOutputs } from './types.ts';

/** An event. Its `type` determines the shape of `data`. */
export type StewardEvent = RouterOutputs['events']['list'][number];
export type EventType = StewardEvent['type'];
export type EventOf<T extends EventType> = Extract<StewardEvent, { type: T }>;

export type EventOptions = {
  /** Only events of this client. */
  client?: number;
  /** The id of the last event that you have handled. Default: the id of the newest event. */
  cursor?: number;
  /**
   * Called once, when no more events follow: the login has ended, its user may not read events, or the listener has thrown an error.
   * Default: the error is thrown where nothing can catch it.
   */
  onEnd?: (error: unknown) => void;
};

export type Events = {
  /**
   * Calls the listener with each event of these types as it happens. After an interruption, it continues with the next event.
   * @returns a function that stops listening
   */
  on: <T extends EventType>(
    types: T | readonly T[],
    listener: (event: EventOf<T>) => void,
    options?: EventOptions,
  ) => () => void;
};

const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 30_000;

const throwUncaught = (error: unknown): void =>
  queueMicrotask(() => {
    throw error;
  });

export const createEvents = (api: TRPCClient<AppRouter>): Events => ({
  on: <T extends EventType>(
    types: T | readonly T[],
    listener: (event: EventOf<T>) => void,
    { onEnd = throwUncaught, cursor, ...filter }: EventOptions = {},
  ) => {
    const names = [types].flat().join(',');
    let last = cursor;
    let failures = 0;
    let isOver = false;
    let cancel = (): void => {};
    const stop = (): void => {
      isOver = true;
      cancel();
    };
    const end = (error: unknown): void => {
      stop();
      onEnd(error);
    };
    const onEvent = (event: StewardEvent): void => {
      if (isOver) return;
      failures = 0;
      last = event.id;
      try {
        listener(event as EventOf<T>); // the service sends only these types
      } catch (error) {
        end(error);
      }
    };
    const listen = async (): Promise<void> => {
      last ??= (await api.events.position.query()).cursor;
      if (isOver) return;
      const subscription = api.events.stream.subscribe(
        { ...filter, types: names, cursor: last },
        { onData: ({ data }) => onEvent(data), onError: onFailure, onComplete: listenLater },
      );
      cancel = () => subscription.unsubscribe();
    };
    const onFailure = (error: unknown): void =>
      isProblem(error) && retryAfterSeconds(error) === undefined ? end(error) : listenLater();
    /** Streams reconnect by themselves, but end when the service restarts, or when a proxy answers instead. */
    const listenLater = (): void => {
      if (isOver) return;
      const waitMs = Math.min(MAX_WAIT_MS, MIN_WAIT_MS * 2 ** failures) * (0.5 + Math.random() / 2);
      failures += 1;
      const timer = setTimeout(() => void listen().catch(onFailure), waitMs);
      cancel = () => clearTimeout(timer);
    };
    void listen().catch(onFailure);
    return stop;
  },
});
