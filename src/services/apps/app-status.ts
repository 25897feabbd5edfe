import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { appVisibleTo } from '../access/visibility.ts';

/** What a platform asks before it shows an app: often, so in one cheap statement. */
export const createAppStatus = ({ em }: { em: SqlEntityManager }) => ({
  /** @throws Problem `not-found` */
  get: async (actor: Actor, id: string): Promise<AppStatus> => {
    const status = await statusRows(em)
      .where('apps.id', '=', id)
      .where(appVisibleTo(actor))
      .executeTakeFirst();
    if (!status) throw notFound('app');
    return status;
  },
});

const statusRows = (em: SqlEntityManager) =>
  tables(em)
    .selectFrom('apps')
    .select(['apps.id', 'apps.slug', 'apps.label', 'apps.in_maintenance'])
    .select(sql<string | null>`apps.package_info ->> 'version'`.as('version'))
    // A message that was written ahead of time is not to be shown yet.
    .select(
      sql<string>`case when apps.in_maintenance then apps.maintenance_message else '' end`.as(
        'maintenance_message',
      ),
    );

export type AppStatus = Awaited<ReturnType<ReturnType<typeof statusRows>['execute']>>[number];
