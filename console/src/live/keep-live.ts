import { queryClient, steward } from '../api.ts';
import { serverNow } from '../server-clock.ts';
import { createRefresher, type Heard, keyOfHeard } from './refresh.ts';

/** How long a tab listens after it was hidden. */
const HIDDEN_MS = 10_000;
/** Limit of missed events to read after a pause. Beyond it, everything is refreshed. */
const MAX_MISSED = 100;
/** Allows for changes that were committed after they began, and for a clock that is exact only to the second. */
const MARGIN_MS = 5_000;

/**
 * Keeps the data on the tab up to date until the signal is aborted. A tab that has been hidden for a while stops listening, and reads the
 * missed events when it is shown again.
 * @param since when the tab began to read its data, by the clock of the service
 */
export const keepLive = (email: string, since: number, signal: AbortSignal): void => {
  const refresher = createRefresher({ queryClient, isHidden: () => document.hidden });
  let listening: AbortController | null = null;
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  let heardUntil = since;

  const catchUp = async (): Promise<void> => {
    const asked = serverNow();
    const missed = await steward.api.events.list.query({
      from: new Date(heardUntil - MARGIN_MS),
      limit: MAX_MISSED,
    });
    if (missed.length === MAX_MISSED) refresher.hearAll();
    else refresher.hear(missed);
    heardUntil = asked;
  };

  const start = (): void => {
    clearTimeout(hiddenTimer);
    if (!listening) {
      listening = new AbortController();
      listenToEvents({
        name: `steward events of ${email}`,
        onEvents: refresher.hear,
        // The stream also ends without a session, or without the service. It starts again when they are back.
        onStarted: () => void catchUp().catch(() => {}),
        signal: listening.signal,
      });
    }
    refresher.resume();
  };

  const stop = (): void => {
    if (!listening) return;
    listening.abort();
    listening = null;
    heardUntil = serverNow();
  };

  const update = (): void => {
    if (!document.hidden) start();
    else hiddenTimer = setTimeout(stop, HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', update);
  signal.addEventListener('abort', () => {
    document.removeEventListener('visibilitychange', update);
    clearTimeout(hiddenTimer);
    stop();
    refresher.close();
  });
  if (!document.hidden) start();
};

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
const listenToEvents = ({ name, onEvents, onStarted, signal }: Listening): void => {
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
