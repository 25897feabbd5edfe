import { steward } from '../api.ts';
import { type Heard, keyOfHeard } from './refresh.ts';

/** Events within this time are passed on together. */
const GATHER_MS = 50;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;

/** From the tab that has the stream to the other tabs. */
type Message = { cursor: string; events: Heard[] };

type Listening = {
  /** The same for all tabs of a user. */
  name: string;
  onEvents: (events: readonly Heard[]) => void;
  /** Called when the stream has started: without an earlier cursor, events from now on are received. */
  onStarted: () => void;
  signal: AbortSignal;
};

/**
 * Listens to events until the signal is aborted. Browsers open six connections to a host over HTTP/1.1, so only one tab has the stream: the
 * tab that holds a lock. It passes the events on to the other tabs. Without locks, as on sites without HTTPS, each tab has its own stream.
 */
export const listenToEvents = ({ name, onEvents, onStarted, signal }: Listening): void => {
  const channel = new BroadcastChannel(name);
  let cursor: string | undefined;
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    cursor = data.cursor;
    onEvents(data.events);
  };
  signal.addEventListener('abort', () => channel.close());

  const lead = async (): Promise<void> => {
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      await followStream({
        cursor,
        signal,
        onStarted: () => {
          retryMs = FIRST_RETRY_MS;
          if (cursor === undefined) onStarted();
        },
        onEvents: (message) => {
          ({ cursor } = message);
          channel.postMessage(message satisfies Message);
          onEvents(message.events);
        },
      });
      // Spreads the reconnects of all consoles after a restart.
      await pause(retryMs * (0.5 + Math.random() / 2), signal);
      retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
    }
  };

  const { locks } = navigator as { locks?: LockManager };
  if (!locks) void lead();
  else
    void locks
      .request(name, { ifAvailable: true }, async (lock) => {
        if (lock) await lead();
        else onStarted();
      })
      .then(() => locks.request(name, { signal }, lead))
      // The tab has stopped waiting for the lock.
      .catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
};

type Following = {
  cursor: string | undefined;
  onStarted: () => void;
  onEvents: (message: Message) => void;
  signal: AbortSignal;
};

/** Resolves when the stream has ended, for any reason. */
const followStream = ({ cursor, onStarted, onEvents, signal }: Following): Promise<void> =>
  new Promise((resolve) => {
    const heard = new Map<string, Heard>();
    let last = cursor;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const handOn = (): void => {
      timer = undefined;
      if (last !== undefined && heard.size > 0) onEvents({ cursor: last, events: [...heard.values()] });
      heard.clear();
    };
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      signal.removeEventListener('abort', end);
      clearTimeout(timer);
      if (!signal.aborted) handOn();
      resolve();
      subscription.unsubscribe();
    };
    const subscription = steward.api.events.stream.subscribe(
      { cursor: cursor === undefined ? undefined : Number(cursor) },
      {
        onStarted,
        onData: ({ id, data: { type, request_id } }) => {
          last = id;
          heard.set(keyOfHeard({ type, request_id }), { type, request_id });
          timer ??= setTimeout(handOn, GATHER_MS);
        },
        onError: end,
        onComplete: end,
        // Otherwise, the browser would reconnect every three seconds, even if it always fails.
        onConnectionStateChange: ({ state, error }) => {
          if (state === 'connecting' && error) end();
        },
      },
    );
    signal.addEventListener('abort', end);
  });

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
