import { useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';

/** Refreshes all queries that show who has which app. */
export const useAccessRefresh = () => {
  const queryClient = useQueryClient();
  const routers = [
    trpc.access,
    trpc.dataPermissions,
    trpc.grants,
    trpc.requests,
    trpc.users,
    trpc.memberships,
    trpc.groups,
    trpc.attention,
    trpc.audit,
  ];
  return () => Promise.all(routers.map((router) => queryClient.invalidateQueries(router.pathFilter())));
};
