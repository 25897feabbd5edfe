import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { tables } from '../../db/kysely.ts';
import { ensureMonths, monthOf } from './usage-partitions.ts';
import { dropOldMonths, type OpenSession } from './usage-retention.ts';
import { dayOf, refreshStaleWindows } from './usage-windows.ts';

/** Months that are there before the first entry falls into them. */
const MONTHS_AHEAD = [0, 1, 2];

type Deps = { em: SqlEntityManager; openSession: OpenSession; now: Date; retentionDays: number };

/** Makes the log's next months, drops those that are over for too long, and brings windows to the present day. */
export const maintainUsage = async ({ em, openSession, now, retentionDays }: Deps): Promise<void> => {
  await em.transactional((tx) =>
    ensureMonths(
      tx,
      MONTHS_AHEAD.map((months) => monthOf(now, months)),
    ),
  );
  const stale = await tables(em)
    .selectFrom('usage_windows')
    .select('app_id')
    .where('day', '<', dayOf(now))
    .execute();
  await refreshStaleWindows(
    em,
    stale.map(({ app_id }) => app_id),
    now,
  );
  await dropOldMonths(openSession, now, retentionDays);
};
