import type { Config } from '../core/config.ts';
import { migrateDatabase } from '../database.ts';
import { inWorkplace } from '../workplace.ts';

export const migrate = async (config: Config): Promise<void> => {
  const names = await inWorkplace(config, ({ connection }) => migrateDatabase(connection));
  process.stdout.write(names.length > 0 ? `Applied ${names.join(', ')}\n` : 'Nothing to apply.\n');
};
