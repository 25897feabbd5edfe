import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import type { PackageName } from '../../lib/package-name.ts';
import type { InspectedPackage } from './package-inspection.ts';
import { invalidPackage } from './package-rules.ts';

/** Packages that were fetched from the store. */
const fetchedPackages = (em: Db) =>
  tables(em)
    .selectFrom('fetched_packages')
    .select(['fetched_packages.id', 'fetched_packages.version', 'fetched_packages.sha256'])
    .select(['fetched_packages.manifest', 'fetched_packages.fetched_at']);

export type FetchedPackage = Awaited<ReturnType<ReturnType<typeof fetchedPackages>['execute']>>[number];

/**
 * Locks the fetches, loads and rollbacks of a slug until the end of the transaction. Row locks cannot: a new app has no row
 * yet, and the row of a new fetch is not visible to other transactions.
 */
export const lockPackages = async (tx: Db, slug: string): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`packages of ${slug}`}, 0))`.execute(tables(tx));
};

/** The package that a load applies. */
export const lastFetched = (tx: Db, slug: string): Promise<FetchedPackage | undefined> =>
  fetchedPackages(tx).where('slug', '=', slug).orderBy('id', 'desc').limit(1).executeTakeFirst();

/** The package that was loaded last into an app, among those of `version`, or else of other bytes than `notSha256`. */
export const lastLoaded = (tx: Db, appId: string, version: string | undefined, notSha256: string) => {
  const loaded = fetchedPackages(tx)
    .innerJoin('loaded_packages', 'loaded_packages.package_id', 'fetched_packages.id')
    .where('loaded_packages.app_id', '=', appId)
    .orderBy('loaded_packages.id', 'desc')
    .limit(1);
  const matching =
    version === undefined
      ? loaded.where('fetched_packages.sha256', '<>', notSha256)
      : loaded.where('fetched_packages.version', '=', version);
  return matching.executeTakeFirst();
};

type Fetch = PackageName & InspectedPackage & { fetchedAt: Date; fetchedBy: string };

/**
 * Makes this package the newest of its slug, by the highest id. A package that was fetched before keeps a single row and its
 * loads, so that alternating fetches do not grow the table. Requires `lockPackages`.
 * @throws Problem `invalid-package` if the version was fetched before with other bytes
 */
export const saveFetched = async (tx: Db, fetch: Fetch): Promise<void> => {
  const { slug, version, sha256, manifest } = fetch;
  await requireSameBytes(tx, fetch);
  const when = { fetched_at: fetch.fetchedAt, fetched_by: fetch.fetchedBy };
  const last = await lastFetched(tx, slug);
  if (last?.sha256 === sha256) {
    await tables(tx).updateTable('fetched_packages').set(when).where('id', '=', last.id).execute();
    return;
  }
  const { id } = await tables(tx)
    .insertInto('fetched_packages')
    .values({ slug, version, sha256, size_bytes: fetch.sizeBytes, manifest, ...when })
    .returning('id')
    .executeTakeFirstOrThrow();
  const former = tables(tx)
    .selectFrom('fetched_packages')
    .select('id')
    .where('slug', '=', slug)
    .where('sha256', '=', sha256)
    .where('id', '<', id);
  await tables(tx)
    .updateTable('loaded_packages')
    .set({ package_id: id })
    .where('package_id', 'in', former)
    .execute();
  await tables(tx).deleteFrom('fetched_packages').where('id', 'in', former).execute();
};

/** The store refuses other bytes too, but its files or its bucket may be changed directly. */
const requireSameBytes = async (tx: Db, { slug, version, sha256 }: Fetch): Promise<void> => {
  const other = await tables(tx)
    .selectFrom('fetched_packages')
    .select('sha256')
    .where('slug', '=', slug)
    .where('version', '=', version)
    .where('sha256', '<>', sha256)
    .limit(1)
    .executeTakeFirst();
  if (!other) return;
  throw invalidPackage(
    `${slug} ${version} was fetched before with SHA-256 ${other.sha256}, and has now ${sha256}: ` +
      'other bytes were put under this version. Publish them under a new one.',
  );
};
