import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { PageRequest } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import type { Actor } from '../access/actor.ts';
import { viewableAppIds } from '../apps/app-rows.ts';
import type { Unit } from '../unit.ts';
import { createUsers } from '../users/users.ts';
import { dayOf } from './usage-windows.ts';

type IdleFilter = { days: number; client?: number | undefined; cursor?: string | undefined };

export const createIdleUsers = (unit: Unit) => {
  const { em, clock } = unit;
  const users = createUsers(unit);

  /** The last day on which each user used an app, as far as the actor may see. */
  const lastUses = async (actor: Actor, emails: string[]): Promise<Map<string, string>> => {
    const { rows } = await sql<{ email: string; day: string }>`
      select email, max(day)::text as day from usage_days
      where email = any(${emails}::varchar[])
        and app_id = any(${viewableAppIds(actor)})
      group by email`.execute(tables(em));
    return new Map(rows.map(({ email, day }) => [email, day]));
  };

  return {
    /**
     * Active users who neither logged in nor used an app for `days` whole UTC days, the longest absent login first.
     * @throws Problem `not-found` if the actor may not see the client, `invalid-input` on `cursor`
     */
    list: async (actor: Actor, { days, ...filter }: IdleFilter, part: PageRequest) => {
      const since = new Date(`${dayOf(new Date(clock.now().getTime() - days * DAY_MS))}T00:00:00Z`);
      const idle = { ...filter, is_active: true, last_seen_before: since, sort: 'last_login' as const };
      const rows = await users.list(actor, idle, part);
      const used = await lastUses(
        actor,
        rows.map(({ email }) => email),
      );
      return rows.map((user) => ({ ...user, last_used_day: used.get(user.email) ?? null }));
    },
  };
};
