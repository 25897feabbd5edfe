import { createPasswordHasher } from '../adapters/password-hasher.ts';
import { systemClock } from '../core/clock.ts';
import type { Config } from '../core/config.ts';
import { migrateDatabase, openDatabase } from '../database.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { createAdmin } from '../services/people/first-start.ts';
import { inWorkplace } from '../workplace.ts';

/** Returns whether the offered password was set: see `createAdmin`. */
export const makeAdmin = (config: Config, email: string, offered: string): Promise<boolean> =>
  inWorkplace(config, async ({ connection }) => {
    await migrateDatabase(connection);
    const orm = await openDatabase(connection);
    try {
      const hasher = await createPasswordHasher(config.argon2Concurrency);
      const password = config.adminPassword;
      return await createAdmin(orm.em.fork(), hasher, createAudit(NO_ORIGIN, systemClock), {
        email,
        offered,
        now: systemClock.now(),
        ...(password && { password }),
      });
    } finally {
      await orm.close(true);
    }
  });
