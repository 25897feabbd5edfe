import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { PackageInfo } from '../../../entities/app.ts';
import { tables } from '../../db/kysely.ts';
import {
  afterCursor,
  type CursorPageRequest,
  cursorRow,
  type PageRequest,
  readPage,
} from '../../db/pagination.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { appVisibleTo } from '../access/visibility.ts';
import type { Unit } from '../unit.ts';
import { appRow, requireViewableApp } from './app-rows.ts';

/** Per version. Repeated rollbacks make many; the audit trail has all of them. */
const MAX_LOADS = 20;

/** `cursor` is the id of the last stack of the previous page. */
type StackPageRequest = PageRequest & { cursor?: string | undefined };

/** Reads the status, the stacks and the package versions of an app. */
export const createAppDetails = ({ em }: Pick<Unit, 'em'>) => ({
  /**
   * What a platform reads before it shows an app: one cheap query.
   * @throws Problem `not-found`
   */
  getStatus: async (actor: Actor, id: string): Promise<AppStatus> => {
    const status = await statusRows(em)
      .where('apps.id', '=', id)
      .where(appVisibleTo(actor))
      .executeTakeFirst();
    if (!status) throw notFound('app');
    return status;
  },

  /**
   * The stacks that an app offers, by slug.
   * @throws Problem `not-found`, `invalid-input` on `cursor`
   */
  listStacks: async (
    actor: Actor,
    appId: string,
    { cursor, ...page }: StackPageRequest,
  ): Promise<AppStack[]> => {
    const { id } = await appRow(em, actor, appId);
    const stacks = stackRows(em, id);
    if (cursor === undefined) return readPage(stacks, 'stacks.id', page);
    const { slug } = await cursorRow(stacks.where('stacks.id', '=', cursor));
    return readPage(stacks.where('stacks.slug', '>', slug), 'stacks.id', page);
  },

  /**
   * The versions that were fetched, last fetched first, and when each was loaded. `cursor` is the id of the last version of the
   * previous page.
   * @throws Problem `not-found`, `forbidden`
   */
  listVersions: async (actor: Actor, appId: string, page: CursorPageRequest) => {
    const app = await requireViewableApp(em, actor, appId);
    const running: PackageInfo = app.package_info;
    const versions = await readPage(versionRows(em, app.slug, page.cursor), 'version.id', page);
    const hashes = versions.map(({ sha256 }) => sha256);
    const loads = Map.groupBy(await loadRows(em, app.id, hashes).execute(), ({ sha256 }) => sha256);
    return versions.map((version) => ({
      ...version,
      loads: loads.get(version.sha256) ?? [],
      is_current: running.sha256 === version.sha256,
    }));
  },
});

export type AppVersion = Awaited<ReturnType<ReturnType<typeof createAppDetails>['listVersions']>>[number];

const statusRows = (em: SqlEntityManager) =>
  tables(em)
    .selectFrom('apps')
    .select(['apps.id', 'apps.slug', 'apps.label', 'apps.in_maintenance'])
    .select(sql<string | null>`apps.package_info ->> 'version'`.as('version'))
    // A message may be prepared before maintenance starts.
    .select(
      sql<string>`case when apps.in_maintenance then apps.maintenance_message else '' end`.as(
        'maintenance_message',
      ),
    );

export type AppStatus = Awaited<ReturnType<ReturnType<typeof statusRows>['execute']>>[number];

const stackRows = (em: SqlEntityManager, appId: string) =>
  tables(em)
    .selectFrom('stacks')
    .select(['stacks.id', 'stacks.slug', 'stacks.label'])
    .where('stacks.app_id', '=', appId)
    .where('stacks.is_offered', '=', true)
    .orderBy('stacks.slug');

export type AppStack = Awaited<ReturnType<ReturnType<typeof stackRows>['execute']>>[number];

/** The last fetch of each version, identified by its hash: the hash covers the version. */
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

/** The loads of these hashes into the app, newest first. */
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
