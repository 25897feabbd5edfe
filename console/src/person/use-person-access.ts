import { useMutation } from '@tanstack/react-query';
import { type Outputs, steward } from '../api.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';

export type PersonAccess = Outputs['access']['ofPerson'];
export type PersonApp = PersonAccess['apps'][number];
export type PersonGroup = PersonAccess['groups'][number];

/** Whether anything gives the app to the person. Even so, the person may be suspended, or the app in maintenance. */
export const hasApp = ({ grant, groups, role }: PersonApp): boolean =>
  grant !== null || groups.length > 0 || role !== null;

type Terms = {
  apps: string[];
  expires_at: Date | null;
  reason: string;
  /** By app id. */
  given: Readonly<Record<string, { app_roles: string[]; attributes: Record<string, unknown> | null }>>;
};

/** Grants apps one after another, and stops at the first refusal. */
export const useGrantApps = (email: string, onDone: () => void) => {
  const refresh = useAccessRefresh();
  return useMutation({
    mutationFn: async ({ apps, given, ...terms }: Terms) => {
      for (const app_id of apps)
        await steward.api.grants.create.mutate({ app_id, email, ...terms, ...given[app_id] });
    },
    onSuccess: onDone,
    onSettled: refresh,
  });
};

/** Revokes an app by a bulk change of one person, because that can be undone. */
export const useEndGrant = (email: string, onEnded: (operation: string, appId: string) => void) => {
  const refresh = useAccessRefresh();
  return useMutation({
    mutationFn: async (appId: string) => {
      const input = { emails: [email], action: 'revoke-apps' as const, apps: [appId] };
      const { operation, results } = await steward.api.users.bulkUpdate.mutate(input);
      const problem = results[0]?.problem;
      if (problem) throw new Error(problem.detail);
      return operation;
    },
    onSuccess: onEnded,
    onSettled: refresh,
  });
};
