import { useSuspenseQuery } from '@tanstack/react-query';
import { sessionQuery } from '../api.ts';

/** The logged-in user, with their permissions. */
export const useSession = () => useSuspenseQuery(sessionQuery).data;
