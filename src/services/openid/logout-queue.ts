import { sql } from 'kysely';
import { deleteInBatches } from '../../db/deletion.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { type Clock, DAY_MS, HOUR_MS } from '../../lib/clock.ts';
import { newestEventId, publishEvents } from '../events/event-rows.ts';
import { backoffOf } from '../outbox/queue-worker.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { checkLogin, endLogin, nextCheck } from './openid-logins.ts';

/** Longer than an attempt plus clock differences. */
const LEASE_MS = 20_000;
const BACKOFF_MS = 5_000;
const MAX_BACKOFF_MS = 2 * HOUR_MS;
/** Attempts end a day after the login has ended. */
const MAX_AGE_MS = DAY_MS;
const KEPT_MS = 7 * DAY_MS;
/** Concurrent logouts of an app, and of all apps of a client, in one worker. */
const AT_ONCE = 2;
const AT_ONCE_BY_CLIENT = 10;
/** Logins that are decided at the same time. */
const TOGETHER = 10;
/** Logins that are decided, and events that are read, in one step. */
const BATCH = 100;

/** The result of an attempt to tell an app of a logout. `error`: why there was no response. */
export type LogoutAttempt = { status: number | null; error: string | null };

export type ClaimedLogout = Awaited<ReturnType<typeof claimDue>>[number];

export type LoginEnding = ReturnType<typeof createLoginEnding>;
export type LogoutQueue = ReturnType<typeof createLogoutQueue>;

type Deps = {
  em: Em;
  clock: Clock;
  lookUpOpening: UnitOfWork['lookUpOpening'];
};

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

/** Queue of the logouts of which apps are told. A slow app takes the place of others only up to these limits. */
export const createLogoutQueue = ({ em, clock }: Pick<Deps, 'em' | 'clock'>) => {
  /** What this worker sends now. */
  const inFlight = new Map<number, ClaimedLogout>();
  const countBy = (key: 'app_id' | 'client_id') =>
    Object.entries(Object.groupBy(inFlight.values(), (logout) => String(logout[key])));
  const fullOf = (key: 'app_id' | 'client_id', limit: number): string[] =>
    countBy(key).flatMap(([id, logouts = []]) => (logouts.length >= limit ? id : []));

  return {
    claim: async (limit: number) => {
      const full = {
        apps: fullOf('app_id', AT_ONCE),
        clients: fullOf('client_id', AT_ONCE_BY_CLIENT).map(Number),
      };
      const claimed = await em.fork().transactional((tx) => claimDue(tx, clock.now(), limit, full));
      for (const logout of claimed) inFlight.set(logout.id, logout);
      return { claimed, found: claimed.length };
    },

    /** Records the result of an attempt. After a refusal by the app, there is no other one. */
    record: async (logout: ClaimedLogout, { status, error }: LogoutAttempt): Promise<void> => {
      inFlight.delete(logout.id);
      const now = clock.now();
      const isDelivered = status !== null && status >= 200 && status < 300;
      const isRefused = status !== null && status >= 400 && status < 500 && ![408, 429].includes(status);
      const isLast = isRefused || now.getTime() - logout.ended_at.getTime() >= MAX_AGE_MS;
      const next = new Date(now.getTime() + backoffOf(logout.attempts, BACKOFF_MS, MAX_BACKOFF_MS));
      await kysely(em.fork())
        .updateTable('openid_logins')
        .set({
          status,
          error,
          delivered_at: isDelivered ? now : null,
          failed_at: !isDelivered && isLast ? now : null,
          next_attempt_at: isDelivered || isLast ? null : next,
        })
        .where('id', '=', logout.id)
        .where('attempts', '=', logout.attempts)
        .execute();
    },

    /** Gives back logouts that were claimed but not attempted. */
    release: async (logouts: readonly ClaimedLogout[]): Promise<void> => {
      for (const { id, attempts } of logouts) {
        inFlight.delete(id);
        await kysely(em.fork())
          .updateTable('openid_logins')
          .set({ attempts: attempts - 1, next_attempt_at: clock.now() })
          .where('id', '=', id)
          .where('attempts', '=', attempts)
          .execute();
      }
    },

    /** Milliseconds until a logout can be claimed; null without any. */
    msUntilDue: async (): Promise<number | null> => {
      const due = sql<Date | null>`(select min(next_attempt_at) from openid_logins where next_attempt_at is not null)`;
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
  for (const { id } of orphans) await endLogin(em, id, now, { tellsApp: true });
  return orphans.length;
};

/** Decides again about logins whose time has come. Several workers may decide about one: they come to the same result. */
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
    else await endLogin(em, login.id, now, { tellsApp: true });
  };
  // Lookups at the same time share statements.
  for (let next = 0; next < due.length; next += TOGETHER)
    await Promise.all(due.slice(next, next + TOGETHER).map(check));
  return due.length;
};

type Full = { apps: readonly string[]; clients: readonly number[] };

/** Takes turns between the apps. */
const claimDue = async (tx: Em, now: Date, limit: number, full: Full) => {
  const turnOfApp = sql<number>`row_number() over (partition by app_id order by next_attempt_at, id)`;
  const turnOfClient = sql<number>`row_number() over (partition by client_id order by turn, next_attempt_at, id)`;
  const waiting = kysely(tx)
    .selectFrom('openid_logins')
    .select(['id', 'app_id', 'client_id', 'next_attempt_at', turnOfApp.as('turn')])
    .where('next_attempt_at', '<=', now)
    .where(
      condition`app_id <> all(${[...full.apps]}::varchar[]) and client_id <> all(${[...full.clients]}::int[])`,
    );
  const next = kysely(tx)
    .selectFrom(waiting.as('waiting'))
    .select(['id', 'turn', 'next_attempt_at', turnOfClient.as('turn_of_client')])
    .where('turn', '<=', AT_ONCE);
  const due = await kysely(tx)
    .selectFrom('openid_logins')
    .select(['id', 'app_id', 'client_id', 'subject', 'sid', 'attempts', 'ended_at'])
    .select(['backchannel_logout_uri as url', 'signing_algorithm'])
    .where('id', 'in', (query) =>
      query
        .selectFrom(next.as('next'))
        .select('id')
        .where('turn_of_client', '<=', AT_ONCE_BY_CLIENT)
        .orderBy('turn')
        .orderBy('next_attempt_at')
        .limit(limit),
    )
    .$narrowType<{ ended_at: Date }>()
    .orderBy('next_attempt_at')
    .forNoKeyUpdate()
    .skipLocked()
    .execute();
  const leaseEnd = new Date(now.getTime() + LEASE_MS);
  await kysely(tx)
    .updateTable('openid_logins')
    .set(({ eb }) => ({ attempts: eb('attempts', '+', 1), next_attempt_at: leaseEnd }))
    .where(
      isAnyOf(
        'id',
        due.map(({ id }) => id),
        'bigint',
      ),
    )
    .execute();
  return due.map((logout) => ({ ...logout, attempts: logout.attempts + 1, next_attempt_at: leaseEnd }));
};

/** Deletes expired tokens, and logins a week after they have ended, unless a logout is still to be delivered. */
export const pruneOpenid = async (em: Em, now: Date): Promise<void> => {
  await deleteInBatches(em, 'openid_tokens', sql`expires_at < ${now}::timestamptz`);
  const before = new Date(now.getTime() - KEPT_MS);
  await deleteInBatches(
    em,
    'openid_logins',
    sql`ended_at < ${before}::timestamptz and next_attempt_at is null`,
  );
};
