import type { SqlEntityManager } from '@mikro-orm/postgresql';
import semver from 'semver';
import type { PackageStore } from '../../adapters/package-store/package-store.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import type { Audit } from '../audit/audit.ts';
import type { Idempotency, IdempotencyKey } from '../idempotency/idempotency.ts';
import { lockPackages, newestFetched, saveFetched } from './fetched-packages.ts';
import { clientOfNewApp, createApp, loadableApp } from './loadable-app.ts';
import { loadedBefore, loadedVersion } from './loaded-packages.ts';
import { describeChanges } from './package-changes.ts';
import { applyPackage } from './package-loading.ts';
import { PackageManifest } from './package-manifest.ts';

type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  store: PackageStore;
  audit: Audit;
  logger: Pick<Logger, 'info'>;
  idempotency: Idempotency;
};

/** Loaded when a package is fetched: reading tar and YAML takes 40 ms and 6 MB that most instances never need. */
const loadInspection = () => import('./package-inspection.ts');

type Version = { slug: string; version: string };

export const createAppPackages = ({ em, clock, store, audit, logger, idempotency }: Deps) => ({
  /**
   * Takes a version (`latest` or none: the highest that is no prerelease) from the store, checks it whole, and
   * remembers it as the one to load. Nothing is kept of a package that fails.
   * @throws Problem `not-found`, `invalid-package`, `package-store-unavailable`, `idempotency-key-reused`
   */
  fetch: async (
    actor: Actor,
    slug: string,
    wanted: string | undefined,
    idempotencyKey: IdempotencyKey | null,
  ): Promise<Version> => {
    const input = JSON.stringify([slug, wanted]);
    const request = idempotencyKey && { idempotencyKey, operation: 'appPackages.fetch', input };
    return idempotency.runOnce(actor, request, async (write) => {
      const { inspectPackage } = await loadInspection();
      const version = pickVersion(await store.versions(slug), wanted);
      const stored = version === null ? null : await store.open(slug, version);
      if (version === null || !stored) throw notFound('package version in the store');
      const inspected = await inspectPackage(stored, { slug, version });

      // Not before: a download may take as long as it likes.
      return write(async (tx) => {
        await lockPackages(tx, slug);
        const fetch = { slug, version, ...inspected, fetchedAt: clock.now(), fetchedBy: actor.email };
        await saveFetched(tx, fetch);
        const details = { version, sha256: inspected.sha256 };
        await audit.record(tx, [{ action: 'app.fetch-package', actor, target: slug, details }]);
        return { slug, version };
      });
    });
  },

  /**
   * Applies the package that was fetched last: makes or updates the app, its stacks and its `package_info`. One
   * that the app runs already changes nothing, nor what an admin has edited since.
   * A new app belongs to the client its package names, else to the one whose site the request came to.
   * @throws Problem `not-found`, `invalid-package`
   */
  load: async (actor: Actor, slug: string, host: string): Promise<void> => {
    const changes = await em.transactional(async (tx) => {
      await lockPackages(tx, slug);
      const fetched = await newestFetched(tx, slug);
      if (!fetched) throw notFound('fetched package');
      const now = clock.now();
      const app =
        (await loadableApp(tx, slug)) ??
        (await createApp(tx, {
          slug,
          clientId: await clientOfNewApp(tx, PackageManifest.parse(fetched.manifest).client, host),
          createdAt: now,
        }));
      return applyPackage(tx, audit, { slug, app, fetched, actor, now, isRollback: false });
    });
    if (changes) logger.info(`loaded ${describeChanges(slug, changes)}`);
  },

  /**
   * Applies again what was loaded before the present package, or the version named if it ever was: from the
   * database, whether or not the store still has it. What runs already stays untouched. Versions that were loaded
   * before their manifests were kept are not known.
   * @throws Problem `not-found`, `invalid-package`
   */
  rollback: async (actor: Actor, slug: string, wanted: string | undefined): Promise<Version> => {
    const { version, changes } = await em.transactional(async (tx) => {
      await lockPackages(tx, slug);
      const app = await loadableApp(tx, slug);
      if (!app) throw notFound('app');
      const fetched = await (wanted === undefined ? loadedBefore(tx, app) : loadedVersion(tx, app, wanted));
      if (!fetched) throw neverLoaded(slug, wanted);
      const load = { slug, app, fetched, actor, now: clock.now(), isRollback: true };
      return { version: fetched.version, changes: await applyPackage(tx, audit, load) };
    });
    if (changes) logger.info(`rolled back ${describeChanges(slug, changes)}`);
    return { slug, version };
  },
});

/** The highest version that is no prerelease, or exactly the one asked for. */
const pickVersion = (versions: readonly string[], wanted: string | undefined): string | null => {
  if (wanted !== undefined && wanted !== 'latest') return versions.includes(wanted) ? wanted : null;
  const released = versions.filter((version) => semver.prerelease(version) === null);
  // By their build parts too, which have no rank: so that every instance picks the same one.
  return released.sort(semver.compareBuild).at(-1) ?? null;
};

const neverLoaded = (slug: string, wanted: string | undefined): Problem =>
  new Problem('not-found', {
    detail:
      wanted === undefined
        ? `There is no version of ${slug} to roll back to: none but the present one was loaded since Steward keeps ` +
          'manifests. An older one can be fetched and loaded.'
        : `Version ${wanted} of ${slug} cannot be rolled back to: it was not loaded since Steward keeps manifests. ` +
          'Fetch and load it instead.',
  });
