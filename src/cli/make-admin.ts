import { createPasswordHasher } from '../adapters/hashing/password-hasher.ts';
import type { Config } from '../config/config.ts';
import { migrateDatabase, openDatabase } from '../db/database.ts';
import { systemClock } from '../lib/clock.ts';
import { withDatabaseHost } from '../server/database-host.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { createAdmin } from '../services/users/bootstrap.ts';

/** @returns whether the generated password was set; see `createAdmin` */
export const createAdminAccount = (config: Config, email: string, offered: string): Promise<boolean> =>
  withDatabaseHost(config, async ({ connection }) => {
    await migrateDatabase(connection);
    const orm = await openDatabase(connection);
    try {
      const hasher = await createPasswordHasher(config.argon2Concurrency);
      const password = config.adminPassword;
      return await createAdmin(orm.em.fork(), hasher, createAudit(NO_ORIGIN, systemClock), {
        email,
        generated: offered,
        now: systemClock.now(),
        ...(password && { password }),
      });
    } finally {
      await orm.close(true);
    }
  });
