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
