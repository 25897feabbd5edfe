import { LockMode, type SqlEntityManager } from '@mikro-orm/postgresql';
import semver from 'semver';
import { App } from '../../../entities/app.ts';
import { Client } from '../../../entities/client.ts';
import { FetchedPackage } from '../../../entities/fetched-package.ts';
import { Stack } from '../../../entities/stack.ts';
import type { PackageStore } from '../../adapters/package-store.ts';
import type { Clock } from '../../core/clock.ts';
import { newAppId, newStackId } from '../../core/ids.ts';
import { notFound, Problem } from '../../core/problems.ts';
import type { Actor } from '../actor.ts';
import type { Audit } from '../audit/audit.ts';
import { tables } from '../tables.ts';
import { inspectPackage } from './package-inspection.ts';
import { PackageManifest } from './package-manifest.ts';

type Deps = { em: SqlEntityManager; clock: Clock; store: PackageStore; audit: Audit };

type Version = { slug: string; version: string };

export const createAppPackages = ({ em, clock, store, audit }: Deps) => ({
  /**
   * Takes a version (`latest` or none: the highest that is no prerelease) from the store, checks it whole, and
   * remembers it as the one to load. Nothing is kept of a package that fails.
   * @throws Problem `not-found`, `bad-package`, `store-away`
   */
  fetch: async (actor: Actor, slug: string, wanted: string | undefined): Promise<Version> => {
    const version = pickVersion(await store.versions(slug), wanted);
    const stored = version === null ? null : await store.open(slug, version);
    if (version === null || !stored) throw notFound('package version in the store');
    const { manifest, sha256, sizeBytes } = await inspectPackage(stored, { slug, version });

    const values = { version, sha256, size_bytes: sizeBytes, manifest, fetched_at: clock.now() };
    await em.transactional(async (tx) => {
      await tables(tx)
        .insertInto('fetched_packages')
        .values({ slug, ...values })
        .execute();
      const details = { version, sha256 };
      await audit.record(tx, [{ action: 'app.fetch-package', actor, target: slug, details }]);
    });
    return { slug, version };
  },

  /**
   * Applies the fetched package: makes or updates the app, its stacks and its `package_info`.
   * A new app belongs to the client its package names, else to the one whose site the request came to.
   * @throws Problem `not-found`, `bad-package`
   */
  load: (actor: Actor, slug: string, host: string): Promise<void> =>
    em.transactional(async (tx) => {
      const fetched = await tx.findOne(
        FetchedPackage,
        { slug },
        { orderBy: { id: 'desc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
      );
      if (!fetched) throw notFound('fetched package');
      const manifest = PackageManifest.parse(fetched.manifest);

      const now = clock.now();
      const app =
        (await tx.findOne(App, { slug }, { lockMode: LockMode.PESSIMISTIC_WRITE })) ??
        tx.create(App, {
          id: newAppId(),
          slug,
          label: manifest.label,
          client: await clientOfNewApp(tx, manifest.client, host),
          createdAt: now,
        });
      app.label = manifest.label;
      app.description = manifest.description;
      app.helpHtml = manifest.help_html;
      app.footerHtml = manifest.footer_html;
      app.showHelp = manifest.show_help;
      app.showFooter = manifest.show_footer;
      app.packageInfo = {
        version: fetched.version,
        fetched_at: fetched.fetchedAt.toISOString(),
        loaded_at: now.toISOString(),
        sha256: fetched.sha256,
        stacks: await replaceStacks(tx, app, manifest.stacks),
      };
      await tx.flush();
      const details = { version: fetched.version };
      const event = { action: 'app.load-package', actor, target: slug, clients: [app.client.id], details };
      await audit.record(tx, [event]);
    }),
});

/** The highest version that is no prerelease, or exactly the one asked for. */
const pickVersion = (versions: readonly string[], wanted: string | undefined): string | null => {
  if (wanted !== undefined && wanted !== 'latest') return versions.includes(wanted) ? wanted : null;
  const released = versions.filter((version) => semver.prerelease(version) === null);
  return released.sort(semver.rcompare)[0] ?? null;
};

const clientOfNewApp = async (
  tx: SqlEntityManager,
  named: number | undefined,
  host: string,
): Promise<Client> => {
  if (named !== undefined) {
    const client = await tx.findOne(Client, named);
    if (!client)
      throw new Problem('bad-package', { detail: `app.yaml names client ${named}, which does not exist.` });
    return client;
  }
  // Reached under a name that is no site's, the service is taken to be asked for its first one.
  const [first] = await tx.find(Client, {}, { orderBy: { site: { id: 'asc' } }, limit: 1 });
  const client = (await tx.findOne(Client, { site: { domain: host } })) ?? first;
  if (!client)
    throw new Problem('bad-package', { detail: 'There is no client that the app could belong to.' });
  return client;
};

type StackInput = { slug: string; label: string };

/** A stack that the package has dropped is only no longer offered: filters that people saved to it stay. */
const replaceStacks = async (tx: SqlEntityManager, app: App, wanted: readonly StackInput[]) => {
  const existing = new Map((await tx.find(Stack, { app })).map((stack) => [stack.slug, stack]));
  for (const stack of existing.values()) stack.isOffered = false;

  const offered: { id: string; slug: string; label: string }[] = [];
  for (const { slug, label } of wanted) {
    const stack = existing.get(slug) ?? tx.create(Stack, { id: await freeStackId(tx), app, slug, label });
    stack.label = label;
    stack.isOffered = true;
    offered.push({ id: stack.id, slug, label });
  }
  return offered;
};

/** 32 random bits are few enough that a platform of many stacks will meet one that is taken. */
const freeStackId = async (tx: SqlEntityManager): Promise<string> => {
  const id = newStackId();
  return (await tx.count(Stack, { id })) === 0 ? id : freeStackId(tx);
};
