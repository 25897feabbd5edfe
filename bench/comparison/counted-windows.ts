import type { Place } from '../usage/place.ts';

const columnsOf = (days: number): string => {
  const isIn = `today - day < ${days}`;
  return `coalesce(sum(actions) filter (where ${isIn}), 0)::int as actions${days},
    coalesce(sum(retention_histogram[${days} - (today - day)]) filter (where ${isIn}), 0)::int as users${days}`;
};

/**
 * What `usage_windows` holds ready, counted from 90 daily rows of each app whenever it is read: that is how it is done
 * by whoever has rollups and nothing else, and so do the peers.
 */
const VIEW = `create view bench_peers.counted_windows as
  select app_id, today as day, ${[30, 60, 90].map(columnsOf).join(', ')}
  from usage_app_days, (select (now() at time zone 'UTC')::date as today) as clock
  where day > today - 90 and day <= today
  group by app_id, today`;

/** Makes the view for as long as peers run. */
export const addCountedWindows = async (
  { database }: Place,
  closing: AsyncDisposableStack,
): Promise<void> => {
  await database.query('drop schema if exists bench_peers cascade; create schema bench_peers');
  await database.query(VIEW);
  closing.defer(async () => {
    await database.query('drop schema bench_peers cascade');
  });
};
