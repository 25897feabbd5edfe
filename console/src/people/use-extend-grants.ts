import { useMutation } from '@tanstack/react-query';
import { type Outputs, steward } from '../api.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';

type Grant = { app_id: string; email: string };
type Row = Outputs['grants']['extend']['results'][number];

/** Limit per request. */
const MAX_GRANTS = 200;

/** Sets the end of grants, each by the same rules as a single one. Returns a row for each, in the same order. */
export const useExtendGrants = () => {
  const refresh = useAccessRefresh();
  return useMutation({
    mutationFn: async ({ grants, end }: { grants: readonly Grant[]; end: Date }): Promise<Row[]> => {
      const rows: Row[] = [];
      for (let sent = 0; sent < grants.length; sent += MAX_GRANTS) {
        const pairs = grants.slice(sent, sent + MAX_GRANTS).map(({ app_id, email }) => ({ app_id, email }));
        rows.push(...(await steward.api.grants.extend.mutate({ grants: pairs, expires_at: end })).results);
      }
      return rows;
    },
    onSettled: refresh,
  });
};
