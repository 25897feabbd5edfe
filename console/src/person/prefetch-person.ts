import { queryClient, sessionQuery, trpc } from '../api.ts';
import { canView } from '../session/roles.ts';

/**
 * Loads the first data of a person's screen while the pointer is over a link to it, or when the link is followed: the screen then appears
 * in one step. If this fails, the screen requests the data again and reports the failure.
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
