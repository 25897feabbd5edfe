import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { tables } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import type { Audit } from '../audit/audit.ts';
import type { FetchedPackageRow } from './fetched-packages.ts';
import { isRunning, type LoadableApp, packagedColumns } from './loadable-app.ts';
import { saveLoad } from './loaded-packages.ts';
import { detailsOf, type PackageChanges, packageChanges } from './package-changes.ts';
import { invalidPackage } from './package-limits.ts';
import { PackageManifest } from './package-manifest.ts';
import { replaceStacks } from './package-stacks.ts';

type Load = {
  slug: string;
  app: LoadableApp;
  fetched: FetchedPackageRow;
  actor: Actor;
  now: Date;
  isRollback: boolean;
};

/**
 * Makes an app what its package says, and tells what that has changed: null when it runs this package already.
 * @throws Problem `invalid-package` when the package names another client than the app's
 */
export const applyPackage = async (
  tx: SqlEntityManager,
  audit: Audit,
  { slug, app, fetched, actor, now, isRollback }: Load,
): Promise<PackageChanges | null> => {
  if (isRunning(app, fetched)) return null;
  const manifest = PackageManifest.parse(fetched.manifest);
  refuseOtherClient(slug, app, manifest);
  const { offered, changes } = await replaceStacks(tx, app.id, manifest.stacks);
  const packageInfo = {
    version: fetched.version,
    fetched_at: fetched.fetched_at.toISOString(),
    loaded_at: now.toISOString(),
    sha256: fetched.sha256,
    stacks: offered,
  };
  await tables(tx)
    .updateTable('apps')
    .set({ ...packagedColumns(manifest), package_info: packageInfo })
    .where('id', '=', app.id)
    .execute();
  await saveLoad(tx, { app, fetched, actor, isRollback, loadedAt: now });

  const all = packageChanges(app, manifest, changes);
  const action = isRollback ? 'app.rollback-package' : 'app.load-package';
  await audit.record(tx, [
    { action, actor, target: slug, clients: [app.client_id], details: detailsOf(all) },
  ]);
  return all;
};

/** Whoever may publish for one client could otherwise take over another's app by its slug. */
const refuseOtherClient = (slug: string, app: LoadableApp, { client }: PackageManifest): void => {
  if (client === undefined || client === app.client_id) return;
  throw invalidPackage(`app.yaml names client ${client}, but the app ${slug} is client ${app.client_id}'s.`);
};
