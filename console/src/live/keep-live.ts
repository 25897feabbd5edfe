import { queryClient, steward } from '../api.ts';
import { serverNow } from '../server-clock.ts';
import { createRefresher } from './refresh.ts';
import { listenToEvents } from './shared-stream.ts';

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
