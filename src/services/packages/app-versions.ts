import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { PackageInfo } from '../../../entities/app.ts';
import { tables } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import type { Actor } from '../access/actor.ts';
import { requireViewableApp } from '../apps/app-rows.ts';

/** Rolling back and forth makes many; the audit trail has all of them. */
const MAX_LOADS = 20;

export type AppVersion = Awaited<ReturnType<ReturnType<typeof createAppVersions>['list']>>[number];

/** Which versions of an app were fetched, and when each was loaded. */
export const createAppVersions = ({ em }: { em: SqlEntityManager }) => ({
  /**
   * What was fetched last first; `cursor` is the id of the last version of the page before.
   * @throws Problem `not-found`, `forbidden`
   */
  list: async (actor: Actor, appId: string, part: CursorPageRequest) => {
    const app = await requireViewableApp(em, actor, appId);
    const running: PackageInfo = JSON.parse(app.package_info);
    const versions = await readPage(versionRows(em, app.slug, part.cursor), 'version.id', part);
    const hashes = versions.map(({ sha256 }) => sha256);
    const loads = Map.groupBy(await loadRows(em, app.id, hashes).execute(), ({ sha256 }) => sha256);
    return versions.map((version) => ({
      ...version,
      loads: loads.get(version.sha256) ?? [],
      is_current: running.sha256 === version.sha256,
    }));
  },
});

/** The last fetch of each version. A hash stands for one: the version is part of what is hashed. */
const versionRows = (em: SqlEntityManager, slug: string, cursor: number | undefined) => {
  const fetches = tables(em).selectFrom('fetched_packages').where('slug', '=', slug);
  const lastFetches = fetches
    .distinctOn('sha256')
    .select(['id', 'version', 'sha256', 'size_bytes', 'fetched_at', 'fetched_by'])
    .select(sql<boolean>`id = max(id) over ()`.as('is_staged'))
    .orderBy('sha256')
    .orderBy('id', 'desc');
  const rows = tables(em).selectFrom(lastFetches.as('version')).selectAll().orderBy('id', 'desc');
  return afterCursor(rows, 'version.id', cursor, 'desc');
};

/** When the packages of these hashes were loaded into the app, the last time first. */
const loadRows = (em: SqlEntityManager, appId: string, hashes: readonly string[]) => {
  const loads = tables(em)
    .selectFrom('loaded_packages')
    .innerJoin('fetched_packages', 'fetched_packages.id', 'loaded_packages.package_id')
    .select(['loaded_packages.id', 'sha256', 'loaded_at', 'loaded_by', 'is_rollback'])
    .select(sql<number>`row_number() over (partition by sha256 order by loaded_packages.id desc)`.as('nth'))
    .where('app_id', '=', appId)
    .where(sql<boolean>`sha256 = any(${[...hashes]}::varchar[])`);
  return tables(em)
    .selectFrom(loads.as('load'))
    .select(['sha256', 'loaded_at', 'loaded_by', 'is_rollback'])
    .where('nth', '<=', MAX_LOADS)
    .orderBy('id', 'desc');
};
