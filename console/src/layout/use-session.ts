import { useSuspenseQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';

/** The user who is logged in, and what they may do. */
export const useSession = () => useSuspenseQuery(trpc.sessions.current.queryOptions()).data;

export type Roles = ReturnType<typeof useSession>['roles'];

/** Who may see lists of people. */
export const canView = ({ is_superuser, is_staff, admin_of }: Roles): boolean =>
  is_superuser || is_staff || admin_of.length > 0;

/** Who may change people, apps and clients. */
export const canAdminister = ({ is_superuser, admin_of }: Roles): boolean =>
  is_superuser || admin_of.length > 0;

/** Who may fetch and load app packages. */
export const canOperate = ({ is_superuser, is_staff }: Roles): boolean => is_superuser || is_staff;
