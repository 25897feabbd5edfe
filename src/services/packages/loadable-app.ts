import { type Db, tables } from '../../db/kysely.ts';
import { newAppId } from '../../lib/ids.ts';
import { invalidPackage } from './package-rules.ts';

/** The columns of an app that a package sets and admins may change. */
export const EDITABLE_COLUMNS = [
  'label',
  'description',
  'help_html',
  'footer_html',
  'show_help',
  'show_footer',
] as const;

/** The columns of an app that a package sets, named as in its manifest. */
export const MANIFEST_COLUMNS = [...EDITABLE_COLUMNS, 'launch_url'] as const;

/** Locks the app, so that a load reports exactly what it changed. */
export const findLoadableApp = (tx: Db, slug: string) =>
  tables(tx)
    .selectFrom('apps')
    .select(['id', 'client_id', 'package_info', ...MANIFEST_COLUMNS])
    .where('slug', '=', slug)
    .forNoKeyUpdate()
    .executeTakeFirst();

export type LoadableApp = NonNullable<Awaited<ReturnType<typeof findLoadableApp>>>;

/** Creates an app that is empty until its package is applied. */
export const createApp = (tx: Db, app: { slug: string; clientId: number; createdAt: Date }) =>
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
 * The client of a new app: the one that its package names, else the client of the requested host, else the client of the
 * first site.
 * @throws Problem `invalid-package`
 */
export const clientOfNewApp = async (tx: Db, named: number | undefined, host: string): Promise<number> => {
  const clients = tables(tx)
    .selectFrom('clients')
    .innerJoin('sites', 'sites.id', 'clients.site_id')
    .select('clients.id');
  const client =
    named === undefined
      ? await clients
          .orderBy((eb) => eb('sites.domain', '=', host), 'desc')
          .orderBy('sites.id')
          .limit(1)
          .executeTakeFirst()
      : await clients.where('clients.id', '=', named).executeTakeFirst();
  if (client) return client.id;
  throw invalidPackage(
    named === undefined
      ? 'There is no client that the app could belong to.'
      : `app.yaml names client ${named}, which does not exist.`,
  );
};
