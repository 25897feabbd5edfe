import { useEffect } from 'react';
import { canHearEvents } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { serverNow } from '../server-clock.ts';

/** The first screen is loaded before: its requests and scripts come first. */
const START_MS = 1_000;

/** Refreshes what the console shows when others change it, for those who may listen to events. */
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
    // Without its script, which a newer service does not have, lists are as old as they were read.
    const timer = setTimeout(() => void start().catch(() => {}), START_MS);
    return () => {
      clearTimeout(timer);
      closing.abort();
    };
  }, [mayHear, email]);
};
