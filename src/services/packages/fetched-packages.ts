import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { PackageName } from '../../lib/package-name.ts';
import type { InspectedPackage } from './package-inspection.ts';
import { invalidPackage } from './package-limits.ts';

/** A package that was taken from the store, as the database keeps it. */
export const fetchedPackages = (em: SqlEntityManager) =>
  tables(em)
    .selectFrom('fetched_packages')
    .select(['fetched_packages.id', 'fetched_packages.version', 'fetched_packages.sha256'])
    .select(['fetched_packages.manifest', 'fetched_packages.fetched_at']);

export type FetchedPackageRow = Awaited<ReturnType<ReturnType<typeof fetchedPackages>['execute']>>[number];

/**
 * Holds back all other fetches, loads and rollbacks of a slug until this transaction ends. Rows cannot do that: of
 * a new app there is none yet, and a fetch adds one that nobody else can see.
 */
export const lockPackages = async (tx: SqlEntityManager, slug: string): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`packages of ${slug}`}, 0))`.execute(tables(tx));
};

/** The one that a load applies. */
export const newestFetched = (tx: SqlEntityManager, slug: string): Promise<FetchedPackageRow | undefined> =>
  fetchedPackages(tx).where('slug', '=', slug).orderBy('id', 'desc').limit(1).executeTakeFirst();

type Fetch = PackageName & InspectedPackage & { fetchedAt: Date; fetchedBy: string };

/**
 * Makes this package the newest of its slug, by the highest id. One that was fetched before keeps one row, and its
 * loads: fetching two versions in turn must not fill the table. Under `lockPackages`.
 * @throws Problem `invalid-package` when the version was fetched before with other bytes
 */
export const saveFetched = async (tx: SqlEntityManager, fetch: Fetch): Promise<void> => {
  const { slug, version, sha256, manifest } = fetch;
  await refuseOtherBytes(tx, fetch);
  const when = { fetched_at: fetch.fetchedAt, fetched_by: fetch.fetchedBy };
  const newest = await newestFetched(tx, slug);
  if (newest?.sha256 === sha256) {
    await tables(tx).updateTable('fetched_packages').set(when).where('id', '=', newest.id).execute();
  } else {
    const { id } = await tables(tx)
      .insertInto('fetched_packages')
      .values({ slug, version, sha256, size_bytes: fetch.sizeBytes, manifest, ...when })
      .returning('id')
      .executeTakeFirstOrThrow();
    await replaceFormer(tx, { id, slug, sha256 });
  }
};

/** The same bytes have the same manifest: what was loaded of the former row is what the new one has. */
const replaceFormer = async (
  tx: SqlEntityManager,
  { id, slug, sha256 }: { id: FetchedPackageRow['id']; slug: string; sha256: string },
): Promise<void> => {
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

/** The store refuses it as well, but whoever can write to its files or its bucket need not ask. */
const refuseOtherBytes = async (tx: SqlEntityManager, { slug, version, sha256 }: Fetch): Promise<void> => {
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
