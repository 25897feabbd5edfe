import { sql } from 'kysely';
import { deleteInBatches } from '../../db/deletion.ts';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
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
/** Logins that are decided, and events that are read, in one step. */
const BATCH = 100;

/** The result of an attempt to tell an app of a logout. `error`: why there was no response. */
export type LogoutAttempt = { status: number | null; error: string | null };

export type ClaimedLogout = Awaited<ReturnType<typeof claimDue>>[number];

export type LogoutQueue = ReturnType<typeof createLogoutQueue>;

type Deps = {
  em: Em;
  clock: Clock;
  lookUpOpening: UnitOfWork['lookUpOpening'];
};

/** Finds the logins to apps that have ended, and queues that the apps hear of it. For any number of workers. */
export const createLogoutQueue = (deps: Deps) => {
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
    /** Ends logins whose session or access has ended, and claims up to `limit` due deliveries. `found` also counts those. */
    claim: async (limit: number) => {
      const fork = em.fork();
      if (!(await hasLogins(fork))) {
        position = null;
        return { claimed: [], found: 0 };
      }
      const now = clock.now();
      const isMore = await readEvents(fork, now);
      const ended = await endOrphans(fork, now);
      const checked = await checkDue({ ...deps, em: fork });
      const claimed = await em.fork().transactional((tx) => claimDue(tx, clock.now(), limit));
      return { claimed, found: claimed.length + ended + checked + Number(isMore) };
    },

    /** Records the result of an attempt. After a refusal by the app, there is no other one. */
    record: async (logout: ClaimedLogout, { status, error }: LogoutAttempt): Promise<void> => {
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
      for (const { id, attempts } of logouts)
        await kysely(em.fork())
          .updateTable('openid_logins')
          .set({ attempts: attempts - 1, next_attempt_at: clock.now() })
          .where('id', '=', id)
          .where('attempts', '=', attempts)
          .execute();
    },

    /** Milliseconds until a login is decided again, or a logout can be claimed; null without any. */
    msUntilDue: async (): Promise<number | null> => {
      const { rows } = await sql<{ due: Date | null }>`
        select least((select min(check_at) from openid_logins where ended_at is null),
          (select min(next_attempt_at) from openid_logins where next_attempt_at is not null)) as due`.execute(
        kysely(em.fork()),
      );
      return rows[0]?.due ? rows[0].due.getTime() - clock.now().getTime() : null;
    },
  };
};

const hasLogins = async (em: Em): Promise<boolean> => {
  const { rows } = await sql`
    select where exists (select from openid_logins where ended_at is null)
      or exists (select from openid_logins where next_attempt_at is not null)`.execute(kysely(em));
  return rows.length > 0;
};

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
        or client_id in (select unnest(client_ids) from read where target_type <> 'user')))
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
  for (const { slug, ...login } of due) {
    const door = slug === null ? null : await checkLogin(deps, { ...login, slug });
    if (door)
      await kysely(em)
        .updateTable('openid_logins')
        .set({ check_at: nextCheck(door.opening, now) })
        .where('id', '=', login.id)
        .execute();
    else await endLogin(em, login.id, now, { tellsApp: true });
  }
  return due.length;
};

const claimDue = async (tx: Em, now: Date, limit: number) => {
  const due = await kysely(tx)
    .selectFrom('openid_logins')
    .select(['id', 'app_id', 'subject', 'sid', 'attempts', 'ended_at'])
    .select(['backchannel_logout_uri as url', 'signing_algorithm'])
    .where('next_attempt_at', '<=', now)
    .$narrowType<{ ended_at: Date }>()
    .orderBy('next_attempt_at')
    .limit(limit)
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
