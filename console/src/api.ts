import { type AppRouter, createStewardClient, isProblem, isUnreachable, type Problem } from '@steward/client';
import { MutationCache, onlineManager, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query';
import { reportReachable, reportUnreachable } from './connection.ts';
import { noteOwnChange } from './live/own-changes.ts';
import { noteServerTime } from './server-clock.ts';

export type { RouterInputs as Inputs, RouterOutputs as Outputs } from '@steward/client';

export const steward = createStewardClient({
  fetch: async (address, init) => {
    const response = await fetch(address, init);
    noteServerTime(response.headers);
    noteOwnChange(init, response);
    return response;
  },
});

/** A window event that is sent before the page leaves for the login page. */
export const SESSION_ENDED = 'session-ended';

/** After the session has ended, leaves for the login page, which returns to the same place. */
const handleError = (error: unknown): void => {
  if (isProblem(error, 'unauthenticated')) {
    dispatchEvent(new CustomEvent(SESSION_ENDED));
    location.assign(loginUrl(isLoggedIn()));
  } else if (isUnreachable(error)) reportUnreachable();
};

/** Whether the session was read before. */
const isLoggedIn = (): boolean => queryClient.getQueryData(sessionQuery.queryKey) !== undefined;

/** @param hasEnded whether the login page states that the session has ended */
const loginUrl = (hasEnded: boolean): string => {
  const next = location.pathname + location.search;
  return `/login/?${new URLSearchParams({ next, ...(hasEnded && { ended: '1' }) })}`;
};

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: handleError, onSuccess: reportReachable }),
  mutationCache: new MutationCache({ onError: handleError, onSuccess: reportReachable }),
  defaultOptions: {
    // Without a connection, a call fails at once, instead of waiting for one without a word.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      refetchOnReconnect: true,
      staleTime: 15_000,
      // A refused call is not retried; a lost connection may be restored.
      retry: (failures, error) => !isProblem(error) && onlineManager.isOnline() && failures < 2,
    },
  },
});

onlineManager.subscribe((isOnline) => {
  if (!isOnline) reportUnreachable();
});

/** Typed query and mutation options of every procedure: `trpc.users.get.queryOptions({ email })`. */
export const trpc = createTRPCOptionsProxy<AppRouter>({ client: steward.api, queryClient });

/** No screen is for visitors, so an ended session is an error here, as in every other call. */
export const sessionQuery = queryOptions({
  queryKey: trpc.sessions.current.queryKey() as readonly unknown[],
  queryFn: async () => {
    const session = await steward.api.sessions.current.query();
    if (session !== null) return session;
    const problem: Problem = { code: 'unauthenticated' };
    throw Object.assign(new Error('Log in to continue.'), { data: { problem } });
  },
});
