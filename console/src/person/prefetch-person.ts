import { queryClient, sessionQuery, trpc } from '../api.ts';
import { canView } from '../layout/roles.ts';

/**
 * Loads what the screen of a person shows first, while a link to it is pointed at or followed: the screen then appears in one
 * step. A failure is reported by the screen, which asks again.
 */
export const prefetchPerson = async (email: string): Promise<void> => {
  const session = queryClient.getQueryData(sessionQuery.queryKey);
  if (!session || !canView(session.roles)) return;
  await Promise.all([
    queryClient.prefetchQuery({ ...trpc.users.get.queryOptions({ email }), retry: false }),
    queryClient.prefetchQuery({ ...trpc.users.permissions.queryOptions({ email }), retry: false }),
    queryClient.prefetchQuery({ ...trpc.memberships.list.queryOptions({ email }), retry: false }),
    queryClient.prefetchQuery({ ...trpc.users.screen.queryOptions({ email }), retry: false }),
    queryClient.prefetchQuery({ ...trpc.access.ofPerson.queryOptions({ email }), retry: false }),
  ]);
};
