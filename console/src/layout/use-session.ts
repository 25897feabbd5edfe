import { useSuspenseQuery } from '@tanstack/react-query';
import { sessionQuery } from '../api.ts';

/** The user who is logged in, and what they may do. */
export const useSession = () => useSuspenseQuery(sessionQuery).data;
