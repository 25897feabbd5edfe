import { type AppRouter, createStewardClient, isProblem } from '@steward/client';
import { QueryClient } from '@tanstack/react-query';
import { createTRPCContext } from '@trpc/tanstack-react-query';

/** No `url`: the page and Steward have the same origin, through Vite's proxy or your own. */
export const steward = createStewardClient();

export const { TRPCProvider, useTRPC } = createTRPCContext<AppRouter>();

const MAX_RETRIES = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    // Steward would refuse the same call again; only failures of the connection are worth a retry.
    queries: { retry: (failures, error) => !isProblem(error) && failures < MAX_RETRIES },
  },
});

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : 'Something went wrong.';

const LOGGED_IN = 'steward-logged-in';

/** Scripts cannot read the session cookie. This flag spares first visitors a request that fails with 401. */
export const loginFlag = {
  isSet: (): boolean => localStorage.getItem(LOGGED_IN) !== null,
  set: (): void => localStorage.setItem(LOGGED_IN, '1'),
  clear: (): void => localStorage.removeItem(LOGGED_IN),
};
