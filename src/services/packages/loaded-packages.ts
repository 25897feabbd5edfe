import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { tables } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { type FetchedPackageRow, fetchedPackages } from './fetched-packages.ts';
import type { LoadableApp } from './loadable-app.ts';

type Load = {
  app: LoadableApp;
  fetched: FetchedPackageRow;
  actor: Actor;
  isRollback: boolean;
  loadedAt: Date;
};

export const saveLoad = async (
  tx: SqlEntityManager,
  { app, fetched, actor, isRollback, loadedAt }: Load,
): Promise<void> => {
  await tables(tx)
    .insertInto('loaded_packages')
    .values({
      app_id: app.id,
      package_id: fetched.id,
      loaded_at: loadedAt,
      loaded_by: actor.email,
      is_rollback: isRollback,
    })
    .execute();
};

/** Packages that were ever loaded into an app, the last one first. */
const loadedInto = (tx: SqlEntityManager, app: LoadableApp) =>
  fetchedPackages(tx)
    .innerJoin('loaded_packages', 'loaded_packages.package_id', 'fetched_packages.id')
    .where('loaded_packages.app_id', '=', app.id)
    .orderBy('loaded_packages.id', 'desc')
    .limit(1);

/** The package of this version that was loaded into the app. */
export const loadedVersion = (
  tx: SqlEntityManager,
  app: LoadableApp,
  version: string,
): Promise<FetchedPackageRow | undefined> =>
  loadedInto(tx, app).where('fetched_packages.version', '=', version).executeTakeFirst();

/** The package that the app had before the present one. */
export const loadedBefore = (
  tx: SqlEntityManager,
  app: LoadableApp,
): Promise<FetchedPackageRow | undefined> =>
  loadedInto(tx, app)
    .where('fetched_packages.sha256', '<>', app.package_info.sha256 ?? '')
    .executeTakeFirst();
