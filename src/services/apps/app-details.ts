import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, cursorRow, readPage } from '../../db/pagination.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, administersClient } from '../access/actor.ts';
import { appVisibleTo } from '../access/visibility.ts';
import type { Unit } from '../unit.ts';
import { appRow, type ItemPageRequest, requireViewableApp } from './app-rows.ts';

/** Per version. Repeated rollbacks make many; the audit trail has all of them. */
const MAX_LOADS = 20;

/** Reads the status, the stacks and the package versions of an app. */
export const createAppDetails = ({ em }: Pick<Unit, 'em'>) => ({
  /**
   * What a platform reads before it shows an app: one cheap query.
   * @throws Problem `not-found`
   */
  getStatus: async (actor: Actor, id: string) => {
    const status = await tables(em)
      .selectFrom('apps')
      .select(['apps.id', 'apps.slug', 'apps.label', 'apps.in_maintenance', 'apps.launch_url'])
      .select(sql<string | null>`apps.package_info ->> 'version'`.as('version'))
      // A message may be prepared before maintenance starts.
      .select(
        sql<string>`case when in_maintenance then maintenance_message else '' end`.as('maintenance_message'),
      )
      .where('apps.id', '=', id)
      .where(appVisibleTo(actor))
      .executeTakeFirst();
    if (!status) throw notFound('app');
    return status;
  },

  /** What the actor may do with an app. @throws Problem `not-found` */
  getPermissions: async (actor: Actor, id: string) => {
    const { client_id: client } = await appRow(em, actor, id);
    return { can_update: administersClient(actor, client) };
  },

  /**
   * The stacks that an app offers, by slug.
   * @throws Problem `not-found`, `invalid-input` on `cursor`
   */
  listStacks: async (actor: Actor, appId: string, { cursor, ...page }: ItemPageRequest) => {
    const { id } = await appRow(em, actor, appId);
    const stacks = tables(em)
      .selectFrom('stacks')
      .select(['stacks.id', 'stacks.slug', 'stacks.label'])
      .where('stacks.app_id', '=', id)
      .where('stacks.is_offered', '=', true)
      .orderBy('stacks.slug');
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
    const { id, slug, package_info: running } = await requireViewableApp(em, actor, appId);
    const fetched = tables(em)
      .selectFrom('fetched_packages')
      .select(['id', 'version', 'sha256', 'size_bytes', 'fetched_at', 'fetched_by'])
      .select(sql<boolean>`id = max(id) over ()`.as('is_staged'))
      .where('slug', '=', slug);
    const rows = tables(em).selectFrom(fetched.as('version')).selectAll().orderBy('id', 'desc');
    const versions = await readPage(afterCursor(rows, 'version.id', page.cursor, 'desc'), 'version.id', page);
    const loads = await readLoads(
      em,
      id,
      versions.map((version) => version.id),
    );
    return versions.map((version) => ({
      ...version,
      loads: loads.get(version.id) ?? [],
      is_current: running.sha256 === version.sha256,
    }));
  },
});

/** The last loads of these packages into the app by the id of the package, newest first. */
const readLoads = async (em: Unit['em'], appId: string, packageIds: readonly number[]) => {
  const loads = tables(em)
    .selectFrom('loaded_packages')
    .select(['id', 'package_id', 'loaded_at', 'loaded_by', 'is_rollback'])
    .select(sql<number>`row_number() over (partition by package_id order by id desc)`.as('nth'))
    .where('app_id', '=', appId)
    .where(sql<boolean>`package_id = any(${[...packageIds]}::bigint[])`);
  const rows = await tables(em)
    .selectFrom(loads.as('load'))
    .selectAll()
    .where('nth', '<=', MAX_LOADS)
    .orderBy('id', 'desc')
    .execute();
  return Map.groupBy(rows, (row) => row.package_id);
};
