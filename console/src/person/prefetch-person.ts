import { queryClient, trpc } from '../api.ts';
import { canView } from '../layout/roles.ts';

/** Loads a person while their screen is loaded, or while a link to it is pointed at. */
export const prefetchPerson = (email: string): void => {
  const session = queryClient.getQueryData(trpc.sessions.current.queryKey());
  if (session && canView(session.roles))
    void queryClient.prefetchQuery(trpc.users.get.queryOptions({ email }));
};
