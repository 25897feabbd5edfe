import { queryClient, steward } from '../api.ts';
import { serverNow } from '../server-clock.ts';
import { createRefresher } from './refresh.ts';
import { listenToEvents } from './shared-stream.ts';

/** How long a tab listens after it was hidden. */
const HIDDEN_MS = 10_000;
/** Of events between two times of listening. With more, everything is refreshed. */
const MAX_MISSED = 100;
/** For changes that were committed later than they began, and because the clock is exact to the second. */
const MARGIN_MS = 5_000;

/**
 * Keeps what the tab shows as it is in the service, until the signal is aborted. A tab that has been hidden for a while stops to listen,
 * and asks what it has missed when it is shown again.
 * @param since when reading what is shown began, by the clock of the service
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
        // Without a session, or the service, the stream ends, too. It starts again with them.
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
