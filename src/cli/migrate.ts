import type { Config } from '../config/config.ts';
import { migrateDatabase } from '../db/database.ts';
import { withDatabaseHost } from '../server/database-host.ts';

export const migrate = async (config: Config): Promise<void> => {
  const names = await withDatabaseHost(config, ({ connection }) => migrateDatabase(connection));
  process.stdout.write(names.length > 0 ? `Applied ${names.join(', ')}\n` : 'Nothing to apply.\n');
};
