import { createPasswordHasher } from '../adapters/hashing/password-hasher.ts';
import type { Config } from '../config/config.ts';
import { systemClock } from '../lib/clock.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { createAdmin } from '../services/users/bootstrap.ts';
import { withDatabase } from './maintenance.ts';

/** @returns whether the generated password was set; see `createAdmin` */
export const createAdminAccount = (config: Config, email: string, generated: string): Promise<boolean> =>
  withDatabase(config, async (orm) => {
    const hasher = await createPasswordHasher(config.argon2Concurrency);
    const password = config.adminPassword;
    return createAdmin(orm.em.fork(), hasher, createAudit(NO_ORIGIN, systemClock), {
      email,
      generated,
      now: systemClock.now(),
      ...(password && { password }),
    });
  });
