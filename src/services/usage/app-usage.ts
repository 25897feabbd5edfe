import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { pageOfRows, reportCount } from '../../db/pagination.ts';
import type { Actor } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { type AppFilter, appFilterValues, appMatches } from '../apps/app-filter.ts';
import { appsAfter, type ItemPageRequest, viewableAppIds } from '../apps/app-rows.ts';
import { readClient } from '../clients/clients.ts';
import type { Unit } from '../unit.ts';
import { dayOf } from './usage-windows.ts';

type TopApp = { id: string; client: number; slug: string; label: string; actions: number };

/** Usage of the apps whose usage the actor may see. Reads the rollups, never the log. */
export const createAppUsage = ({ em, clock }: Unit) => {
  const today = () => dayOf(clock.now());

  const matching = async (actor: Actor, filter: AppFilter, part: ItemPageRequest) => {
    const rows = (await appsAfter(em, actor, part.cursor))
      .where(appMatches(actor, appFilterValues(filter, today())))
      .where(clientVisibleTo(actor, sql`apps.client_id`));
    await reportCount(rows, part);
    return pageOfRows(rows, 'apps.id', part)
      .clearSelect()
      .select(['apps.id', 'apps.client_id as client', 'apps.slug', 'apps.label', 'apps.in_maintenance']);
  };

  return {
    /**
     * The apps, oldest first, with the actions of each of the last days.
     * @throws Problem `invalid-input` on `cursor`
     */
    listDaily: async (actor: Actor, filter: AppFilter, windowDays: number, part: ItemPageRequest) =>
      (await matching(actor, filter, part))
        .select(
          sql<number[]>`array_to_json(array(
            select coalesce(d.actions, 0) from generate_series(${windowDays}::int - 1, 0, -1) as ago
            left join usage_app_days d on d.app_id = apps.id and d.day = ${today()}::date - ago
            order by ago desc))`.as('daily_actions'),
        )
        .execute(),

    /**
     * Apps without use in the last days, oldest first, with the last day on which they were used.
     * @throws Problem `invalid-input` on `cursor`
     */
    listIdle: async (actor: Actor, filter: AppFilter & { unused_days: number }, part: ItemPageRequest) =>
      (await matching(actor, filter, part))
        .select([
          'apps.created_at',
          sql<string | null>`(select max(d.day)::text from usage_app_days d
            where d.app_id = apps.id and d.actions > 0)`.as('last_used_day'),
        ])
        .execute(),

    /**
     * The most used apps, of one client or of all.
     * @throws Problem `not-found`
     */
    top: async (actor: Actor, client: number | undefined, windowDays: number, limit: number) => {
      if (client !== undefined) await readClient(em, actor, client);
      const { rows } = await sql<TopApp>`
        select apps.id, client_id as client, slug, label, actions
        from (
          select app_id, sum(actions)::bigint as actions from usage_app_days
          where app_id = any(${viewableAppIds(actor, client)})
            and day <= ${today()}::date and day > ${today()}::date - ${windowDays}::int group by app_id
        ) as used join apps on apps.id = used.app_id where actions > 0
        order by actions desc, label, apps.id limit ${limit}`.execute(tables(em));
      return rows;
    },
  };
};
