import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { newestEventId, publishEvents } from '../events/event-rows.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { checkLogin, endLogin, nextCheck } from './openid-logins.ts';

/** Logins that are decided at the same time. */
const TOGETHER = 10;
/** Logins that are decided, and events that are read, in one step. */
const BATCH = 100;

export type LoginEnding = ReturnType<typeof createLoginEnding>;

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'lookUpOpening'>;

/** Finds the logins to apps that have ended. For any number of workers. */
export const createLoginEnding = (deps: Deps) => {
  const { em, clock } = deps;
  /** The last event that this worker has read. Logins of before are decided again within minutes of its start. */
  let position: number | null = null;

  /** Marks the logins that the changes since the last call may have ended. Returns whether there may be more. */
  const readEvents = async (fork: Em, now: Date): Promise<boolean> => {
    position ??= await newestEventId(fork);
    const isMore = await publishEvents(fork);
    const last = await markLogins(fork, position, now);
    if (last !== null) position = last;
    return isMore || last !== null;
  };

  return {
    /** Ends logins whose session or access has ended. Returns how many it has looked at. */
    endDue: async (): Promise<number> => {
      const fork = em.fork();
      if (!(await hasLogins(fork))) {
        position = null;
        return 0;
      }
      const now = clock.now();
      const isMore = await readEvents(fork, now);
      const ended = await endOrphans(fork, now);
      return ended + (await checkDue({ ...deps, em: fork })) + Number(isMore);
    },

    /** Milliseconds until a login is decided again; null without any. */
    msUntilDue: async (): Promise<number | null> => {
      const due = sql<Date | null>`(select min(check_at) from openid_logins where ended_at is null)`;
      const { at } = await kysely(em.fork()).selectNoFrom(due.as('at')).executeTakeFirstOrThrow();
      return at ? at.getTime() - clock.now().getTime() : null;
    },
  };
};

const hasLogins = async (em: Em): Promise<boolean> =>
  (await kysely(em)
    .selectFrom('openid_logins')
    .select('id')
    .where('ended_at', 'is', null)
    .limit(1)
    .executeTakeFirst()) !== undefined;

/**
 * Logins about whose person or session an event is, or about whose app or client. Returns the last event that was read; null without any.
 */
const markLogins = async (em: Em, position: number, now: Date): Promise<number | null> => {
  const { rows } = await sql<{ last: number | null }>`
    with read as materialized (
      select events.id, target_type, target_id, client_ids from events
      join audit_entries on audit_entries.id = events.entry_id
      where events.id > ${position}::bigint order by events.id limit ${BATCH}::int),
    people as (select target_id::int as id from read where target_type = 'user' and target_id is not null),
    marked as (
      update openid_logins set check_at = ${now}::timestamptz
      where ended_at is null and (user_id in (select id from people)
        or session_id in (select s.id from sessions s where s.user_id in (select id from people))
        or app_id in (select target_id from read where target_type = 'app')
        or client_id in (select unnest(client_ids) from read where target_type not in ('user', 'app'))))
    select max(id)::float8 as last from read`.execute(kysely(em));
  return rows[0]?.last ?? null;
};

/** Ends the logins whose sessions were deleted. */
const endOrphans = async (em: Em, now: Date): Promise<number> => {
  const orphans = await kysely(em)
    .selectFrom('openid_logins')
    .select('id')
    .where('ended_at', 'is', null)
    .where('session_id', 'is', null)
    .orderBy('id')
    .limit(BATCH)
    .execute();
  for (const { id } of orphans) await endLogin(em, id, now, { notifiesApp: true });
  return orphans.length;
};

/** Decides again about logins that are due. Several workers may decide about one: the result is the same. */
const checkDue = async (deps: Deps): Promise<number> => {
  const { em, clock } = deps;
  const now = clock.now();
  const due = await kysely(em)
    .selectFrom('openid_logins')
    .leftJoin('openid_apps', 'openid_apps.app_id', 'openid_logins.app_id')
    .leftJoin('apps', 'apps.id', 'openid_apps.app_id')
    .select(['openid_logins.id', 'apps.slug', 'user_id', 'session_id', 'look_id'])
    .where('ended_at', 'is', null)
    .where('check_at', '<=', now)
    .orderBy('check_at')
    .limit(BATCH)
    .execute();
  const check = async ({ slug, ...login }: (typeof due)[number]): Promise<void> => {
    const door = slug === null ? null : await checkLogin(deps, { ...login, slug });
    if (door)
      await kysely(em)
        .updateTable('openid_logins')
        .set({ check_at: nextCheck(door.opening, now) })
        .where('id', '=', login.id)
        .execute();
    else await endLogin(em, login.id, now, { notifiesApp: true });
  };
  // Lookups at the same time share statements.
  for (let next = 0; next < due.length; next += TOGETHER)
    await Promise.all(due.slice(next, next + TOGETHER).map(check));
  return due.length;
};
