import { useSuspenseQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';

/** The user who is logged in, and what they may do. */
export const useSession = () => useSuspenseQuery(trpc.sessions.current.queryOptions()).data;
