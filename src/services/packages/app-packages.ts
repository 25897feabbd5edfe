import { sql } from 'kysely';
import semver from 'semver';
import { App, FetchedPackage, LoadedPackage } from '../../../entities/app.ts';
import { Client } from '../../../entities/client.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { newAppId } from '../../lib/ids.ts';
import type { PackageName } from '../../lib/package-name.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { ofApp } from '../audit/audit.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { InspectedPackage } from './package-inspection.ts';
import { applyPackage, createApp, describeChanges, lockApp } from './package-loading.ts';
import { invalidPackage } from './package-rules.ts';

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'store' | 'audit' | 'origin' | 'idempotency'> & {
  logger: Pick<UnitOfWork['logger'], 'info'>;
};

/** Loaded on the first fetch: the parsers of tar and YAML take 40 ms and 6 MB that most instances never need. */
const loadInspection = () => import('./package-inspection.ts');

/** An app without a package. */
type LinkedApp = { slug: string; label: string; description: string; client: number; launchUrl: string };

export const createAppPackages = ({ em, clock, store, audit, logger, idempotency, origin }: Deps) => ({
  /**
   * Creates an app that only has an address. A package with its slug can be loaded into it later.
   * @throws Problem `invalid-input` on `client`, `slug`
   */
  createLinked: (actor: Actor, { client, ...input }: LinkedApp): Promise<string> =>
    em.transactional(async (tx) => {
      await lockPackages(tx, input.slug);
      if (await lockApp(tx, input.slug)) throw invalid({ slug: ['There is an app with this name in URLs.'] });
      if (!(await tx.findOne(Client, client))) throw invalid({ client: ['There is no such client.'] });
      const app = tx.create(App, { id: newAppId(), ...input, client, createdAt: clock.now() });
      await tx.flush();
      const details = { label: input.label, launch_url: input.launchUrl };
      await audit.record(tx, [
        { action: 'app.create', actor, target: ofApp(app), clients: [client], details },
      ]);
      return app.id;
    }),

  /**
   * Downloads a version from the store, validates it and stages it for the next load. Without a version, or for `latest`, takes the highest
   * version that is not a prerelease. A package that fails leaves no trace.
   * @throws Problem `not-found`, `invalid-package`, `package-store-unavailable`, `idempotency-key-reused`
   */
  fetch: async (
    actor: Actor,
    slug: string,
    wanted: string | undefined,
    idempotencyKey: IdempotencyKey | null,
  ) => {
    const request = { actor, idempotencyKey, operation: 'appPackages.fetch', input: [slug, wanted] };
    return idempotency.runOnce<PackageName>(request, async (write) => {
      const { inspectPackage } = await loadInspection();
      const version = pickVersion(await store.versions(slug), wanted);
      const stored = version === null ? null : await store.open(slug, version);
      if (version === null || !stored) throw notFound('package version in the store');
      const inspected = await inspectPackage(stored, { slug, version });

      // The transaction starts after the download, which may take long.
      return write(async (tx) => {
        await lockPackages(tx, slug);
        const fetch = { slug, version, ...inspected, fetchedAt: clock.now(), fetchedBy: actor.email };
        await saveFetched(tx, fetch);
        const details = { version, sha256: inspected.sha256 };
        await audit.record(tx, [
          { action: 'app.fetch-package', actor, target: { type: 'app', id: null, label: slug }, details },
        ]);
        return { slug, version };
      });
    });
  },

  /**
   * Applies the package that was fetched last: creates or updates the app, its stacks and its `package_info`. If the app already runs it,
   * nothing changes, so edits of an admin since then are kept. For the client of a new app, see `createApp`.
   * @throws Problem `not-found`, `invalid-package`
   */
  load: async (actor: Actor, slug: string, host: string): Promise<void> => {
    const changes = await em.transactional(async (tx) => {
      await lockPackages(tx, slug);
      const fetched = await lastFetched(tx, slug);
      if (!fetched) throw notFound('fetched package');
      const now = clock.now();
      const app = (await lockApp(tx, slug)) ?? (await createApp(tx, fetched, host, now));
      return applyPackage(tx, { app, fetched, actor, audit, now, isRollback: false });
    });
    if (changes) logger.info({ reqId: origin.requestId }, `loaded ${describeChanges(slug, changes)}`);
  },

  /**
   * Applies the package that was loaded before the current one, or the given version, from the database: the store is not needed. If the
   * app already runs it, nothing changes.
   * @throws Problem `not-found`, `invalid-package`
   */
  rollback: async (actor: Actor, slug: string, wanted: string | undefined): Promise<PackageName> => {
    const { version, changes } = await em.transactional(async (tx) => {
      await lockPackages(tx, slug);
      const app = await lockApp(tx, slug);
      if (!app) throw notFound('app');
      const fetched = await lastLoaded(tx, app.id, wanted, app.packageInfo.sha256 ?? '');
      if (!fetched) throw neverLoaded(slug, wanted);
      const load = { app, fetched, actor, audit, now: clock.now(), isRollback: true };
      return { version: fetched.version, changes: await applyPackage(tx, load) };
    });
    if (changes) logger.info({ reqId: origin.requestId }, `rolled back ${describeChanges(slug, changes)}`);
    return { slug, version };
  },
});

/** The wanted version; by default the highest that is not a prerelease. */
const pickVersion = (versions: readonly string[], wanted: string | undefined): string | null => {
  if (wanted !== undefined && wanted !== 'latest') return versions.includes(wanted) ? wanted : null;
  const released = versions.filter((version) => semver.prerelease(version) === null);
  // Build parts have no precedence; comparing them makes all instances pick the same version.
  return released.sort(semver.compareBuild).at(-1) ?? null;
};

const neverLoaded = (slug: string, wanted: string | undefined): Problem =>
  new Problem('not-found', {
    detail:
      wanted === undefined
        ? `No other version of ${slug} was loaded before. Fetch and load the version that you want.`
        : `Version ${wanted} of ${slug} was never loaded. Fetch and load it instead.`,
  });

/**
 * Locks the fetches, loads and rollbacks of a slug until the end of the transaction. Row locks cannot do this: a new app has no row yet,
 * and the row of a new fetch is not visible to other transactions.
 */
const lockPackages = async (tx: Em, slug: string): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`packages of ${slug}`}, 0))`.execute(kysely(tx));
};

/** The package that a load applies. */
const lastFetched = (tx: Em, slug: string) =>
  tx.findOne(FetchedPackage, { slug }, { orderBy: { id: 'desc' } });

/** The package that was loaded last into an app, among packages of `version`, or among packages with other bytes than `notSha256`. */
const lastLoaded = async (tx: Em, app: string, version: string | undefined, notSha256: string) => {
  const wanted = version === undefined ? { sha256: { $ne: notSha256 } } : { version };
  const options = { orderBy: { id: 'desc' }, populate: ['package'] } as const;
  return (await tx.findOne(LoadedPackage, { app, package: wanted }, options))?.package;
};

type Fetch = PackageName & InspectedPackage & { fetchedAt: Date; fetchedBy: string };

/**
 * Makes this package the newest of its slug, by the highest id. A package that was fetched before keeps a single row and its
 * loads, so that alternating fetches do not grow the table. Requires `lockPackages`.
 * @throws Problem `invalid-package` if the version was fetched before with other bytes
 */
const saveFetched = async (tx: Em, fetch: Fetch): Promise<void> => {
  const { slug, sha256 } = fetch;
  await requireSameBytes(tx, fetch);
  const last = await lastFetched(tx, slug);
  if (last?.sha256 === sha256) {
    last.fetchedAt = fetch.fetchedAt;
    last.fetchedBy = fetch.fetchedBy;
    await tx.flush();
    return;
  }
  const former = await tx.find(FetchedPackage, { slug, sha256 });
  const newest = tx.create(FetchedPackage, fetch);
  await tx.flush();
  await tx.nativeUpdate(LoadedPackage, { package: { $in: former } }, { package: newest });
  await tx.nativeDelete(FetchedPackage, { id: { $in: former.map(({ id }) => id) } });
};

/** The store also refuses other bytes, but its files or its bucket may be changed directly. */
const requireSameBytes = async (tx: Em, { slug, version, sha256 }: Fetch): Promise<void> => {
  const other = await tx.findOne(FetchedPackage, { slug, version, sha256: { $ne: sha256 } });
  if (!other) return;
  throw invalidPackage(
    `${slug} ${version} was fetched before with SHA-256 ${other.sha256}, and has now ${sha256}: ` +
      'other bytes were put under this version. Publish them under a new one.',
  );
};
