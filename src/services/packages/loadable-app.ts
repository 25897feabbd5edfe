import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { tables } from '../../db/kysely.ts';
import { newAppId } from '../../lib/ids.ts';
import type { FetchedPackageRow } from './fetched-packages.ts';
import { invalidPackage } from './package-limits.ts';
import type { PackageManifest } from './package-manifest.ts';

/** What a package sets of an app; its manifest calls it the same. */
export const MANIFEST_COLUMNS = [
  'label',
  'description',
  'help_html',
  'footer_html',
  'show_help',
  'show_footer',
] as const;

const loadableApps = (tx: SqlEntityManager) =>
  tables(tx)
    .selectFrom('apps')
    .select(['id', 'client_id', 'package_info', ...MANIFEST_COLUMNS]);

export type LoadableApp = Awaited<ReturnType<ReturnType<typeof loadableApps>['execute']>>[number];

/** Those columns by a manifest. */
export const packagedColumns = (
  manifest: PackageManifest,
): Pick<LoadableApp, (typeof MANIFEST_COLUMNS)[number]> => ({
  label: manifest.label,
  description: manifest.description,
  help_html: manifest.help_html,
  footer_html: manifest.footer_html,
  show_help: manifest.show_help,
  show_footer: manifest.show_footer,
});

/** Locked, so that what a load reports to have changed is what it has changed. */
export const loadableApp = (tx: SqlEntityManager, slug: string): Promise<LoadableApp | undefined> =>
  loadableApps(tx).where('slug', '=', slug).forNoKeyUpdate().executeTakeFirst();

/** Whether the app runs exactly this package. */
export const isRunning = (
  { package_info: info }: LoadableApp,
  { version, sha256 }: FetchedPackageRow,
): boolean => info.version === version && info.sha256 === sha256;

/** A new app, blank until its package is applied. */
export const createApp = (
  tx: SqlEntityManager,
  app: { slug: string; clientId: number; createdAt: Date },
): Promise<LoadableApp> =>
  tables(tx)
    .insertInto('apps')
    .values({
      id: newAppId(),
      slug: app.slug,
      client_id: app.clientId,
      label: '',
      package_info: {},
      created_at: app.createdAt,
    })
    .returning(['id', 'client_id', 'package_info', ...MANIFEST_COLUMNS])
    .executeTakeFirstOrThrow();

/**
 * The client that gets a new app: the one its package names, else the one whose site the request came to.
 * @throws Problem `invalid-package`
 */
export const clientOfNewApp = async (
  tx: SqlEntityManager,
  named: number | undefined,
  host: string,
): Promise<number> => {
  const clients = tables(tx).selectFrom('clients').innerJoin('sites', 'sites.id', 'clients.site_id');
  if (named !== undefined) {
    const client = await clients.select('clients.id').where('clients.id', '=', named).executeTakeFirst();
    if (client) return client.id;
    throw invalidPackage(`app.yaml names client ${named}, which does not exist.`);
  }
  // Reached under a name that is no site's, the service is taken to be asked for its first one.
  const client = await clients
    .select('clients.id')
    .orderBy((eb) => eb('sites.domain', '=', host), 'desc')
    .orderBy('sites.id')
    .limit(1)
    .executeTakeFirst();
  if (client) return client.id;
  throw invalidPackage('There is no client that the app could belong to.');
};
