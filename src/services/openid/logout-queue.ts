import { sql } from 'kysely';
import { deleteInBatches } from '../../db/deletion.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { DAY_MS, HOUR_MS } from '../../lib/clock.ts';
import { backoffOf } from '../outbox/queue-worker.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

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

/** The result of an attempt to send a logout. `error`: why there was no response. */
export type LogoutAttempt = { status: number | null; error: string | null };

export type ClaimedLogout = Awaited<ReturnType<typeof claimDue>>[number];

export type LogoutQueue = ReturnType<typeof createLogoutQueue>;

/** Queue of the logouts that are sent to apps. The limits keep a slow app from blocking the others. */
export const createLogoutQueue = ({ em, clock }: Pick<UnitOfWork, 'em' | 'clock'>) => {
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
