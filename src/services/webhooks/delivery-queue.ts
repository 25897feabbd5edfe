import { type RawBuilder, sql } from 'kysely';
import { deleteInBatches } from '../../db/deletion.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import type { SealedSecrets } from '../../lib/sealed-box.ts';
import { serviceActor } from '../access/actor.ts';
import { createAudit, NO_ORIGIN } from '../audit/audit.ts';
import { redactFor } from '../audit/audit-trail.ts';
import { isVisibleToWebhook, isWaiting } from '../events/enqueue-deliveries.ts';
import { contentOf, eventRows, publishEvents } from '../events/event-rows.ts';
import { backoffOf } from '../outbox/queue-worker.ts';
import { type Attempt, isSuccess } from './webhook-sending.ts';
import { disableWebhook, failWaiting, lockForUpdate } from './webhooks.ts';

/**
 * Longer than an attempt plus clock differences: a delivery that is being sent must not be claimed again. Deliveries of a killed worker
 * wait that long.
 */
const LEASE_MS = 20_000;
/** Attempts end a day after the event. */
const MAX_AGE_MS = DAY_MS;
const MAX_BACKOFF_MS = 2 * HOUR_MS;
/** Wait after the first failure. */
const BACKOFF_MS = 5_000;
/** The longest pause of a failing webhook: after its receiver is repaired, events arrive soon. */
const MAX_WAIT_MS = 10 * MINUTE_MS;
/** A webhook whose deliveries have all failed for so long is disabled. */
const FAILING_MS = 5 * DAY_MS;
const KEPT_MS = 7 * DAY_MS;

/** Concurrent deliveries per webhook, for all instances together; 1 for a failing webhook. */
const AT_ONCE = 5;
/**
 * Concurrent deliveries for all webhooks of a client, or of the installation: slow receivers must leave room for the webhooks of others.
 */
const AT_ONCE_BY_CLIENT = 20;

type Deps = {
  /** Forked for each operation. */
  em: Em;
  clock: Clock;
  secrets: SealedSecrets;
};

export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>;

export type ClaimedDelivery = Omit<Contents, 'sealed'> & {
  /** The end of the lease. */
  next_attempt_at: Date;
  /** The secrets that can be decrypted. */
  secrets: string[];
};

/** Queue of the deliveries to webhooks, for any number of workers in any number of instances. */
export const createDeliveryQueue = (deps: Deps) => {
  const { em, clock, secrets } = deps;

  return {
    /**
     * Claims up to `limit` deliveries, a few per webhook. `found` also counts deliveries whose events no longer exist, and events that wait
     * to be enqueued.
     */
    claim: async (limit: number) => {
      if (!(await hasWebhooks(em.fork()))) return { claimed: [], found: 0 };
      const isMore = await publishEvents(em.fork());
      return em.fork().transactional(async (tx) => {
        const now = clock.now();
        const due = await readDue(tx, now, limit);
        const contents = await readContents(tx, due, now);
        const next_attempt_at = new Date(now.getTime() + LEASE_MS);
        const claimed: ClaimedDelivery[] = contents.map(({ sealed, ...delivery }) => ({
          ...delivery,
          attempts: delivery.attempts + 1,
          next_attempt_at,
          secrets: sealed.flatMap((secret) => secrets.open(delivery.webhook_id, secret) ?? []),
        }));
        await storeClaims(tx, claimed, now, next_attempt_at);
        await failExpired(tx, due, claimed, now);
        return { claimed, found: due.length + Number(isMore) };
      });
    },

    /** Records the result of an attempt. If another worker has claimed the delivery since, only a success counts. */
    record: (delivery: ClaimedDelivery, attempt: Attempt): Promise<void> =>
      em.fork().transactional(async (tx) => {
        const now = clock.now();
        const webhook = await lockWebhook(tx, delivery.webhook_id);
        if (!webhook) return;
        const isDelivered = isSuccess(attempt);
        const isFailing =
          !isDelivered &&
          webhook.failing_since !== null &&
          webhook.failing_since.getTime() <= now.getTime() - FAILING_MS;
        const reason = attempt.status === 410 ? 'gone' : isFailing ? 'failing' : null;
        // Locked before any delivery: the transaction that enqueues others must be able to wait for this one.
        if (reason && webhook.is_active) await lockForUpdate(tx, webhook.id);
        const isLast = reason !== null || now.getTime() - delivery.queued_at.getTime() >= MAX_AGE_MS;
        const nextAt = new Date(now.getTime() + backoffOf(delivery.attempts, BACKOFF_MS, MAX_BACKOFF_MS));
        const { numAffectedRows } = await sql`
          update webhook_deliveries d set claimed_until = null, status = ${attempt.status}, duration_ms = ${attempt.duration_ms},
            response = case when d.body::text = ${delivery.body} then ${attempt.response}::text end, error = ${attempt.error},
            delivered_at = ${isDelivered ? now : null}::timestamptz,
            failed_at = ${!isDelivered && isLast ? now : null}::timestamptz,
            next_attempt_at = ${isDelivered || isLast ? null : nextAt}::timestamptz
          where ${isOf(delivery)}
            and ${isDelivered ? sql`delivered_at is null` : isClaimed(delivery)}`.execute(kysely(tx));
        if (!numAffectedRows) return;
        if (isDelivered || isLast) await makeNextDue(tx, delivery, now);
        const since = webhook.failing_since ?? now;
        const state = isDelivered
          ? { failing_since: null, retry_at: null }
          : { failing_since: since, retry_at: retryAt(since, now) };
        if (!isDelivered || webhook.failing_since)
          await kysely(tx).updateTable('webhooks').set(state).where('id', '=', webhook.id).execute();
        if (reason && webhook.is_active)
          await disableWebhook({ tx, now, audit: createAudit(NO_ORIGIN, clock) }, webhook, reason);
      }),

    /** Releases deliveries that were claimed but not attempted. */
    release: (deliveries: readonly ClaimedDelivery[]): Promise<void> =>
      em.fork().transactional(async (tx) => {
        for (const delivery of deliveries)
          await sql`
            update webhook_deliveries d set attempts = attempts - 1, claimed_until = null,
              next_attempt_at = ${clock.now()}::timestamptz
            where ${isOf(delivery)} and ${isClaimed(delivery)}`.execute(kysely(tx));
      }),

    /** Milliseconds until a delivery can be claimed; null if none is queued. */
    msUntilDue: async (): Promise<number | null> => {
      const now = clock.now();
      const room = roomOf(now);
      const { rows } = await sql<{ due: Date | null }>`
        select min(case when least(${room.own}, ${room.ofClient}) > 0 then (
            select greatest(next_attempt_at, w.retry_at) from webhook_deliveries d
            where d.webhook_id = w.id and next_attempt_at is not null and ${isWaiting()}
            order by next_attempt_at limit 1)
          else (select min(claimed_until) from webhook_deliveries d
            where d.webhook_id = w.id and claimed_until > ${now}::timestamptz) end) as due
        from webhooks w where w.is_active`.execute(kysely(em.fork()));
      return rows[0]?.due ? rows[0].due.getTime() - now.getTime() : null;
    },

    /** Deletes old deliveries and secrets, and gives up deliveries that fail for a day. */
    prune: async (): Promise<void> => {
      const now = clock.now();
      await giveUpOld(em, now);
      const before = new Date(now.getTime() - KEPT_MS);
      await deleteInBatches(
        em.fork(),
        'webhook_deliveries',
        sql`coalesce(delivered_at, failed_at) < ${before}::timestamptz`,
      );
      await sql`
        update webhooks set previous_secret = null, previous_until = null
        where previous_until <= ${now}::timestamptz`.execute(kysely(em.fork()));
    },
  };
};

/** Without active webhooks, events are published only when they are read. */
const hasWebhooks = async (em: Em): Promise<boolean> =>
  (await kysely(em)
    .selectFrom('webhooks')
    .select('id')
    .where('is_active', '=', true)
    .limit(1)
    .executeTakeFirst()) !== undefined;

type Key = { webhook_id: number; event_id: number };

const isOf = ({ webhook_id, event_id }: Key) =>
  sql`d.webhook_id = ${webhook_id}::int and d.event_id = ${event_id}::bigint`;

/** Whether the delivery is still claimed by this claim, not by a later one. */
const isClaimed = ({ attempts }: ClaimedDelivery) => sql`${isWaiting()} and attempts = ${attempts}`;

const claimedOf = (webhooks: RawBuilder<unknown>, now: Date) => sql`
  (select count(*)::int from webhook_deliveries c join webhooks o on o.id = c.webhook_id
    where ${webhooks} and c.claimed_until > ${now}::timestamptz)`;

/**
 * A failing webhook waits for half of the time for which it has failed; then one delivery tests whether it still fails, instead of many
 * subjects one after another. At first it hardly waits, because a single subject may be the cause.
 */
const retryAt = (failingSince: Date, now: Date): Date =>
  new Date(now.getTime() + Math.min(MAX_WAIT_MS, (now.getTime() - failingSince.getTime()) / 2));

/** SQL over `w` of `webhooks`: how many more concurrent deliveries are allowed for this webhook, and for the webhooks of its client. */
const roomOf = (now: Date) => ({
  own: sql`(case when w.failing_since is null then ${AT_ONCE}::int else 1 end - ${claimedOf(sql`o.id = w.id`, now)})`,
  ofClient: sql`(${AT_ONCE_BY_CLIENT}::int - ${claimedOf(sql`o.client_id is not distinct from w.client_id`, now)})`,
});

/** Locks webhooks with due deliveries, except those that another worker has locked, and reads the next deliveries of each. */
const readDue = async (tx: Em, now: Date, limit: number) => {
  const isDue = condition`d.next_attempt_at <= ${now}::timestamptz and ${isWaiting()}`;
  const webhooks = await kysely(tx)
    .selectFrom('webhooks as w')
    .select('id')
    .where('is_active', '=', true)
    .where(condition`coalesce(w.retry_at <= ${now}::timestamptz, true)`)
    .where(condition`exists (select from webhook_deliveries d where d.webhook_id = w.id and ${isDue})`)
    .orderBy('id')
    .forNoKeyUpdate()
    .skipLocked()
    .execute();
  if (webhooks.length === 0) return [];
  const room = roomOf(now);
  const { rows } = await sql<Key>`
    with turns as (
      select w.id as webhook_id, w.client_id, ${room.ofClient} as room, next.*,
        row_number() over (partition by w.id order by next.next_attempt_at, next.event_id) as turn
      from webhooks w cross join lateral (
        select d.event_id::float8, d.next_attempt_at from webhook_deliveries d where d.webhook_id = w.id and ${isDue}
        order by d.next_attempt_at, d.event_id limit greatest(0, ${room.own})) next
      where w.id = any(${webhooks.map(({ id }) => id)}::int[])),
    places as (
      select *, row_number() over (partition by client_id order by turn, next_attempt_at, event_id) as place from turns)
    select webhook_id, event_id from places where place <= room
    order by turn, next_attempt_at limit ${limit}::int`.execute(kysely(tx));
  return rows;
};

type Contents = Awaited<ReturnType<typeof readContents>>[number];

/**
 * The content that is sent now: an earlier erasure has already replaced the person. A later erasure waits for the entry, which is locked,
 * and then finds the stored content.
 */
const readContents = async (tx: Em, due: readonly Key[], now: Date) => {
  if (due.length === 0) return [];
  const rows = await dueContents(tx, due).execute();
  return rows.map((row) => {
    const reader = serviceActor(row.client_id);
    const data = contentOf(redactFor(reader, row), reader);
    const isRotating = row.previous_until !== null && row.previous_until > now;
    return {
      webhook_id: row.webhook_id,
      event_id: row.id,
      url: row.url,
      attempts: row.attempts,
      queued_at: row.queued_at,
      body: JSON.stringify({ type: data.type, timestamp: data.timestamp, data }),
      sealed: [row.sealed_secret, isRotating ? row.previous_secret : null],
    };
  });
};

const dueContents = (tx: Em, due: readonly Key[]) =>
  eventRows(tx)
    .innerJoin('webhook_deliveries as d', 'd.event_id', 'events.id')
    .innerJoin('webhooks as w', 'w.id', 'd.webhook_id')
    .select(['w.id as webhook_id', 'w.client_id', 'w.url', 'd.attempts', 'd.queued_at'])
    .select(['w.sealed_secret', 'w.previous_secret', 'w.previous_until'])
    .where(condition`(d.webhook_id, d.event_id) in (select * from unnest(
      ${due.map(({ webhook_id }) => webhook_id)}::int[], ${due.map(({ event_id }) => event_id)}::bigint[]))`)
    .where(isVisibleToWebhook)
    .forShare('audit_entries');

type Claim = Key & { body: string };

const storeClaims = async (tx: Em, claims: readonly Claim[], now: Date, leaseEnd: Date): Promise<void> => {
  const rows = claims.map(({ webhook_id, event_id, body }) => ({ webhook_id, event_id, body }));
  await sql`
    update webhook_deliveries d set attempts = attempts + 1, last_attempt_at = ${now}::timestamptz,
      next_attempt_at = ${leaseEnd}::timestamptz, claimed_until = ${leaseEnd}::timestamptz,
      body = claimed.body::json, status = null, duration_ms = null, response = null, error = null
    from json_to_recordset(${JSON.stringify(rows)}::json) as claimed (webhook_id int, event_id bigint, body text)
    where d.webhook_id = claimed.webhook_id and d.event_id = claimed.event_id`.execute(kysely(tx));
};

/** Gives up on events that are no longer in the audit trail. */
const failExpired = async (tx: Em, due: readonly Key[], claimed: readonly Key[], now: Date) => {
  const gone = due.filter(
    ({ webhook_id, event_id }) =>
      !claimed.some((claim) => claim.webhook_id === webhook_id && claim.event_id === event_id),
  );
  for (const delivery of gone) {
    await failWaiting(tx, isOf(delivery), 'The event is not kept any more.', now);
    await makeNextDue(tx, delivery, now);
  }
};

/**
 * For webhooks whose deliveries have all failed for a day: gives up deliveries that have waited that long, most of them without an attempt.
 */
const giveUpOld = async (em: Em, now: Date): Promise<void> => {
  const dayAgo = new Date(now.getTime() - MAX_AGE_MS);
  const failing = (db: Em) =>
    kysely(db)
      .selectFrom('webhooks')
      .select('id')
      .where('is_active', '=', true)
      .where('failing_since', '<=', dayAgo);
  for (const { id } of await failing(em.fork()).execute())
    await em.fork().transactional(async (tx) => {
      // Excludes transactions that enqueue, as when a webhook is disabled.
      if (!(await failing(tx).where('id', '=', id).forUpdate().executeTakeFirst())) return;
      const isOld = sql`d.webhook_id = ${id}::int and d.queued_at <= ${dayAgo}::timestamptz`;
      await failWaiting(tx, isOld, 'The webhook failed for a day.', now);
      await sql`
        update webhook_deliveries d set next_attempt_at = ${now}::timestamptz
        where d.webhook_id = ${id}::int and d.event_id in (
          select min(event_id) from webhook_deliveries n where n.webhook_id = ${id}::int and ${isWaiting('n')}
          group by subject having count(next_attempt_at) = 0)`.execute(kysely(tx));
    });
};

/** Makes the next delivery of the subject due. Call it after the given one has finished. */
const makeNextDue = (tx: Em, delivery: Key, now: Date) =>
  sql`
    update webhook_deliveries d set next_attempt_at = ${now}::timestamptz
    where d.next_attempt_at is null and (d.webhook_id, d.event_id) = (
      select n.webhook_id, n.event_id from webhook_deliveries n
      join webhook_deliveries finished on finished.webhook_id = n.webhook_id and finished.subject = n.subject
      where finished.webhook_id = ${delivery.webhook_id}::int and finished.event_id = ${delivery.event_id}::bigint
        and ${isWaiting('n')}
      order by n.event_id limit 1)`.execute(kysely(tx));

const lockWebhook = (tx: Em, id: number) =>
  kysely(tx)
    .selectFrom('webhooks')
    .select(['id', 'client_id', 'url', 'is_active', 'failing_since'])
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
