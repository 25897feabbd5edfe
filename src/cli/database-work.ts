import { randomBytes } from 'node:crypto';
import { loadCommonPasswords } from '../adapters/hashing/common-passwords.ts';
import { createPasswordHasher } from '../adapters/hashing/password-hasher.ts';
import type { Config } from '../config/config.ts';
import { type Orm, openDatabase } from '../db/database.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { clientIdsOf, kysely } from '../db/kysely.ts';
import { type MigrationPreview, migrateDatabase, previewMigrations } from '../db/migrate.ts';
import type { Clock } from '../lib/clock.ts';
import { formatCount, formatMegabytes } from '../lib/operator-text.ts';
import { notFound } from '../lib/problems.ts';
import { requireDatabase, withDatabaseHost } from '../server/database-host.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { resetFactors } from '../services/auth/factor-management.ts';
import { rebuildUsage } from '../services/usage/usage-writes.ts';
import { createAdmin } from '../services/users/bootstrap.ts';
import { createProgress } from './reports.ts';

/** Applies pending migrations. @returns lines for the operator */
export const migrate = async (config: Config): Promise<string[]> => {
  const names = await withDatabaseHost(config, ({ connection }) => migrateDatabase(connection));
  return [names.length > 0 ? `Applied ${names.join(', ')}` : NO_MIGRATIONS];
};

const NO_MIGRATIONS = 'No pending migrations.';

/** Describes the locks of pending migrations. @returns lines for the operator */
export const previewOf = async (config: Config): Promise<string[]> => {
  const pending = await withDatabaseHost(config, ({ connection }) => previewMigrations(connection));
  return pending.length > 0 ? pending.flatMap(linesOf) : [NO_MIGRATIONS];
};

const linesOf = ({ name, locks }: MigrationPreview): string[] => [
  name,
  ...(locks.length === 0 ? ['  locks no existing table'] : []),
  ...locks.map(
    ({ table, mode, rows, bytes }) =>
      `  locks ${table} (${mode}), about ${formatCount(rows, 'row')}, ${formatMegabytes(bytes)}`,
  ),
];

/** The resources of a command. `secretKey` and `clock` are the service's. */
type OpenDatabase = { orm: Orm; secretKey: string; clock: Clock };
type Work<T> = (database: OpenDatabase) => Promise<T>;

/** Runs `work` on the migrated database. */
export const withDatabase = async <T>(
  config: Config,
  work: Work<T>,
  queryLimitMs?: number | null,
): Promise<T> => {
  await requireDatabase(config);
  return withNewDatabase(config, work, queryLimitMs);
};

/** Like `withDatabase`, but creates the embedded database if there is none. */
export const withNewDatabase = <T>(config: Config, work: Work<T>, queryLimitMs?: number | null): Promise<T> =>
  withDatabaseHost(config, async ({ connection, secretKey }) => {
    await migrateDatabase(connection);
    await using orm = await openDatabase(connection, queryLimitMs);
    using clock = await createDatabaseClock(orm.pool);
    return await work({ orm, secretKey, clock });
  });

/** Like `withDatabase`, but without statement timeouts: counting a large app, or searching for a person, takes long. */
export const withDatabaseForLong = <T>(config: Config, work: Work<T>): Promise<T> =>
  withDatabase(config, work, null);

/** Creates a superuser, or promotes a user. @returns lines for the operator */
export const createAdminAccount = (config: Config, email: string): Promise<string[]> =>
  withNewDatabase(config, async ({ orm, clock }) => {
    const hasher = await createPasswordHasher(config.argon2Concurrency);
    const password = config.adminPassword;
    const generated = randomBytes(12).toString('base64url');
    const audit = createAudit(NO_ORIGIN, clock);
    const done = await createAdmin(
      orm.em.fork(),
      { hasher, audit, loadCommonPasswords, ...config },
      { email, generated, now: clock.now(), ...(password && { password }) },
    );
    const outcome = {
      kept: 'The password was kept. To change it, set ADMIN_PASSWORD and run the command again.',
      set: 'The password is that of ADMIN_PASSWORD.',
      changed:
        'The password was changed to that of ADMIN_PASSWORD. All sessions and tokens of the account have ended.',
      generated: `Password (shown only once): ${generated}`,
    };
    return [`${email} is a superuser.`, outcome[done]];
  });

/**
 * @returns a line for the operator
 * @throws Problem `not-found` if the user does not exist, or has no second factor
 */
export const resetSecondFactors = (config: Config, email: string, reason: string): Promise<string> =>
  withDatabase(config, ({ orm, clock }) =>
    orm.em.fork().transactional(async (tx) => {
      const user = await kysely(tx)
        .selectFrom('users')
        .select(['id', 'email'])
        .where('email', '=', email)
        .forUpdate()
        .executeTakeFirstOrThrow(() => notFound(`user: ${email}`));
      const owner = { ...user, clientIds: await clientIdsOf(tx, user.id) };
      const audit = createAudit(NO_ORIGIN, clock);
      await resetFactors({ tx, audit, now: clock.now() }, null, owner, reason);
      return `Removed the second factors and recovery codes of ${email}.`;
    }),
  );

/**
 * Rebuilds the usage rollups of all apps or of one, with a transaction per app.
 * @returns a line for the operator
 * @throws Problem `not-found` if no app has this slug
 */
export const rebuildAllUsage = (config: Config, slug?: string): Promise<string> =>
  withDatabaseForLong(config, (database) => rebuildUsageIn(database, slug));

export const rebuildUsageIn = async (
  { orm, clock }: Pick<OpenDatabase, 'orm' | 'clock'>,
  slug?: string,
): Promise<string> => {
  const all = kysely(orm.em.fork()).selectFrom('apps').select('id').orderBy('id');
  const apps = await (slug === undefined ? all : all.where('slug', '=', slug)).execute();
  if (slug !== undefined && apps.length === 0) throw notFound(`app: ${slug}`);
  using progress = createProgress('Apps', apps.length);
  for (const { id } of apps) {
    await rebuildUsage(orm.em.fork(), id, clock.now());
    progress.advance();
  }
  return `Recomputed the usage of ${formatCount(apps.length, 'app')}.`;
};
