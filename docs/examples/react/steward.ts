import { QueryClient } from '@tanstack/react-query';
import { createTRPCContext } from '@trpc/tanstack-react-query';
import { type AppRouter, createStewardClient, isProblem } from 'steward/client';

/** Without an address: the page lies on Steward's own site, and a session is all the login it needs. */
export const steward = createStewardClient();

export const { TRPCProvider, useTRPC } = createTRPCContext<AppRouter>();

const MAX_TRIES = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    // What Steward has refused it would refuse again; only what went wrong on the way is worth another try.
    queries: { retry: (tries, error) => !isProblem(error) && tries < MAX_TRIES },
  },
});

/** What to show somebody whose call has failed. */
export const sentenceOf = (error: unknown): string =>
  error instanceof Error ? error.message : 'Something went wrong.';
