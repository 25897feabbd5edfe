import { writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import type { PackageStore } from '../../src/adapters/package-store/package-store.ts';
import { createAudit, NO_ORIGIN } from '../../src/services/audit/audit.ts';
import { createAppPackages } from '../../src/services/packages/app-packages.ts';
import { packageOf, tarEntry } from './build-package.ts';
import { makeScratchFolder } from './scratch-folder.ts';
import { STAFF, type TestApp } from './test-app.ts';

type Content = {
  slug: string;
  version: string;
  label?: string;
  launch_url?: string;
  /** By slug. */
  stacks?: Record<string, string>;
  client?: number;
  help_html?: string;
  /** Content of a second file in the package. */
  note?: string;
};

/** Publishes a package with this content. */
export const publish = async ({ store }: { store: PackageStore }, { note = '', ...content }: Content) => {
  const { slug, version, label = slug, stacks = {}, ...more } = content;
  const list = Object.entries(stacks).map(([stack, name]) => ({ slug: stack, label: name }));
  const body = stringify({ slug, version, label, stacks: list, ...more });
  await using folder = await makeScratchFolder();
  const file = folder.join('package.tgz');
  await writeFile(
    file,
    packageOf([tarEntry({ path: 'note', body: note })], tarEntry({ path: 'app.yaml', body })),
  );
  // `return await`, because the folder is removed when this function returns.
  return await store.publish(slug, version, file);
};

export const fetchPackage = (app: TestApp, app_slug: string, app_version?: string) =>
  app.as(STAFF).appPackages.fetch({ app_slug, app_version });

export const loadPackage = (app: TestApp, app_slug: string) => app.as(STAFF).appPackages.load({ app_slug });

/** Publishes, fetches and loads it. */
export const install = async (app: TestApp, content: Content): Promise<void> => {
  await publish(app, content);
  await fetchPackage(app, content.slug, content.version);
  await loadPackage(app, content.slug);
};

/** The app package service as a staff user, with a store or log of the test. */
export const staffPackages = async (
  app: TestApp,
  { store = app.store, log = [] }: { store?: PackageStore; log?: string[] },
) => {
  const { clock } = app;
  const logger = { info: (_fields: unknown, line?: string) => log.push(line ?? '') };
  const audit = createAudit(NO_ORIGIN, clock);
  const { idempotency, identity } = app.openServices();
  const packages = createAppPackages({
    em: app.orm.em.fork(),
    clock,
    store,
    audit,
    origin: NO_ORIGIN,
    logger,
    idempotency,
  });
  const actor = await identity.findByToken(await app.tokenOf(STAFF));
  if (!actor) throw new Error('the token is not known');
  return {
    fetch: (slug: string, version?: string) => packages.fetch(actor, slug, version, null),
    load: (slug: string) => packages.load(actor, slug, 'localhost:8000'),
    rollback: (slug: string, version?: string) => packages.rollback(actor, slug, version),
  };
};
