import { useEffect } from 'react';
import { serverNow } from '../server-clock.ts';
import { canHearEvents } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

/** Delayed, so that the first screen loads its requests and scripts first. */
const START_MS = 1_000;

/** Refreshes the console's data when others change it, for users who may listen to events. */
export const useLive = (): void => {
  const { user, roles } = useSession();
  const mayHear = canHearEvents(roles);
  const { email } = user;
  useEffect(() => {
    if (!mayHear) return;
    const closing = new AbortController();
    const start = async (): Promise<void> => {
      const { keepLive } = await import('./keep-live.ts');
      if (!closing.signal.aborted) keepLive(email, serverNow() - performance.now(), closing.signal);
    };
    // If the script cannot be loaded, because the service is newer, lists are not updated.
    const timer = setTimeout(() => void start().catch(() => {}), START_MS);
    return () => {
      clearTimeout(timer);
      closing.abort();
    };
  }, [mayHear, email]);
};
