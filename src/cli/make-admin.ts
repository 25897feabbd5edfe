import { createPasswordHasher } from '../adapters/password-hasher.ts';
import { systemClock } from '../core/clock.ts';
import type { Config } from '../core/config.ts';
import { migrateDatabase, openDatabase } from '../database.ts';
import { createAdmin } from '../services/first-start.ts';
import { inWorkplace } from '../workplace.ts';

export const makeAdmin = (config: Config, email: string, password: string): Promise<void> =>
  inWorkplace(config, async ({ connection }) => {
    await migrateDatabase(connection);
    const orm = await openDatabase(connection);
    try {
      const hasher = await createPasswordHasher(config.argon2Concurrency);
      await createAdmin(orm.em.fork(), hasher, { email, password, now: systemClock.now() });
    } finally {
      await orm.close(true);
    }
  });
