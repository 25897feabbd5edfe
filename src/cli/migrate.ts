import type { Config } from '../config/config.ts';
import { migrateDatabase } from '../db/database.ts';
import { inWorkplace } from '../server/database-host.ts';

export const migrate = async (config: Config): Promise<void> => {
  const names = await inWorkplace(config, ({ connection }) => migrateDatabase(connection));
  process.stdout.write(names.length > 0 ? `Applied ${names.join(', ')}\n` : 'Nothing to apply.\n');
};
