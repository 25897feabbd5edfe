import { useQueries } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import type { AppsFilter } from './apps-filter.ts';

export type DailyUsage = Outputs['usage']['dailyByApp'][number];

/** The same window as in the columns next to them. */
const DAYS = 30;

/** The daily actions of the listed apps, by app id: one request per page of the list. */
export const useDailyUsage = (
  filter: AppsFilter,
  pages: readonly (readonly { id: string }[])[],
  limit: number,
): Map<string, DailyUsage> =>
  useQueries({
    queries: pages.map((_page, index) =>
      trpc.usage.dailyByApp.queryOptions({
        ...filter,
        window: DAYS,
        limit,
        cursor: pages[index - 1]?.at(-1)?.id,
      }),
    ),
    combine: (results) => new Map(results.flatMap(({ data }) => data ?? []).map((app) => [app.id, app])),
  });
