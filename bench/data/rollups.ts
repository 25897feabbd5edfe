import { createProgress } from '../../src/cli/progress.ts';
import type { Connection } from '../../src/config/connection.ts';
import { openDatabase } from '../../src/db/database.ts';
import { rebuildUsage } from '../../src/services/usage/usage-rebuild.ts';
import type { Plan } from './plan.ts';

/** Counts the rollups of these apps from the log, as the service would have kept them until the log ends. */
export const countRollups = async (
  connection: Connection,
  appIds: string[],
  { until }: Plan,
): Promise<void> => {
  const orm = await openDatabase(connection);
  const progress = createProgress('Rollups of apps', appIds.length);
  try {
    for (const appId of appIds) {
      await rebuildUsage(orm.em.fork(), appId, until);
      progress.advance();
    }
  } finally {
    progress.stop();
    await orm.close(true);
  }
};
