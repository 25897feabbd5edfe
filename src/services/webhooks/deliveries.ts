import { randomUUID } from 'node:crypto';
import { type InferResult, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, serviceActor } from '../access/actor.ts';
import { enqueueDeliveries, isWaiting } from '../events/enqueue-deliveries.ts';
import { publishEvents } from '../events/event-rows.ts';
import { visibleEvents } from '../events/events.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type Attempt, UNREADABLE } from './webhook-sending.ts';
import { aboutWebhook, lockForUpdate, readWebhook, type WebhookRow } from './webhooks.ts';

export const DELIVERY_STATUSES = ['waiting', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One event, or all events since a time. */
export type ReplayInput = { event?: number | undefined; from?: Date | undefined };

/** Limit of events per replay. */
const MAX_REPLAYED = 10_000;
/** Below the time limit of a call. */
const TEST_TIMEOUT_MS = 4_000;

/** The sent deliveries of webhooks, and deliveries on demand. */
export const createWebhookDeliveries = (unit: UnitOfWork) => {
  const { em, clock, audit, webhookSecrets, sendMessage, keyedMutex } = unit;

  return {
    /** Newest events first. @throws Problem `not-found` */
    list: async (
      actor: Actor,
      webhookId: number,
      { status }: { status?: DeliveryStatus | undefined },
      page: CursorPageRequest,
    ): Promise<DeliveryRow[]> => {
      await readWebhook(em, actor, webhookId);
      let rows = deliveryRows(em).where('d.webhook_id', '=', webhookId);
      if (status !== undefined) rows = rows.where(condition`${statusOf} = ${status}`);
      return readPage(afterCursor(rows, 'd.event_id', page.cursor, 'desc'), 'd.event_id', page);
    },

    /**
     * Enqueues events that the webhook receives, whether they were delivered or not.
     * @throws Problem `not-found`, `invalid-input` on `event`, `from`
     */
    replay: async (actor: Actor, webhookId: number, { event, from }: ReplayInput) => {
      await publishEvents(em);
      const ids = await idsToReplay(em, await readWebhook(em, actor, webhookId), { event, from });
      if (ids.length > MAX_REPLAYED)
        throw invalid({ from: [`More than ${MAX_REPLAYED} events since then. Choose a later time.`] });
      return em.transactional(async (tx) => {
        const webhook = await readWebhook(tx, actor, webhookId);
        const field = event === undefined ? 'from' : 'event';
        if (!webhook.is_active) throw invalid({ [field]: ['Activate the webhook first.'] });
        // The lock ensures that a subject has one due delivery.
        await lockForUpdate(tx, webhookId);
        const isWanted = sql`events.id = any(${ids}::bigint[])`;
        const queued = await enqueueDeliveries(tx, isWanted, { webhookId, now: clock.now() });
        if (queued === 0 && event !== undefined)
          throw invalid({ event: ['The webhook does not hear this event, or it waits already.'] });
        await audit.record(tx, [
          { action: 'webhook.replay', actor, ...aboutWebhook(webhook), details: { id: webhookId, queued } },
        ]);
        return { queued };
      });
    },

    /**
     * Sends an event `webhook.test` immediately, without retries. One at a time for the webhooks of a client, so that it cannot be used to
     * flood a site.
     * @throws Problem `not-found`, `overloaded`
     */
    test: async (actor: Actor, webhookId: number): Promise<Attempt> => {
      const webhook = await readWebhook(em, actor, webhookId);
      const { sealed_secret: sealed } = await kysely(em)
        .selectFrom('webhooks')
        .select('sealed_secret')
        .where('id', '=', webhookId)
        .executeTakeFirstOrThrow();
      const secret = webhookSecrets.open(webhookId, sealed);
      if (secret === null) return UNREADABLE;
      return keyedMutex(`webhook tests of ${webhook.client}`, async () => {
        const details = { id: webhookId };
        await em.transactional((tx) =>
          audit.record(tx, [{ action: 'webhook.test', actor, ...aboutWebhook(webhook), details }]),
        );
        const at = clock.now();
        const data = { webhook: webhookId };
        const message = {
          id: `evt_test_${randomUUID()}`,
          url: webhook.url,
          secrets: [secret],
          at,
          body: JSON.stringify({ type: 'webhook.test', timestamp: at, data }),
        };
        return sendMessage(message, AbortSignal.timeout(TEST_TIMEOUT_MS));
      });
    },
  };
};

/** Runs before the webhook is locked, because publishing waits for the lock. Returns up to one more id than may be replayed. */
const idsToReplay = async (
  em: Em,
  { client, types }: Pick<WebhookRow, 'client' | 'types'>,
  { event, from }: ReplayInput,
): Promise<number[]> => {
  const place = event === undefined ? { from, limit: MAX_REPLAYED + 1 } : { cursor: event - 1, limit: 1 };
  const filter = { types: types.length > 0 ? types : undefined, ...place };
  const rows = await visibleEvents(em, serviceActor(client), filter).execute();
  return rows.map(({ id }) => id).filter((id) => event === undefined || id === event);
};

const statusOf = sql<DeliveryStatus>`case
  when ${isWaiting()} then 'waiting' when d.delivered_at is null then 'failed' else 'delivered' end`;

const nextAttemptAt = sql<Date | null>`case
  when d.next_attempt_at is not null then greatest(d.next_attempt_at, w.retry_at) end`;

const deliveryRows = (em: Em) =>
  kysely(em)
    .selectFrom('webhook_deliveries as d')
    .innerJoin('webhooks as w', 'w.id', 'd.webhook_id')
    .select(['d.event_id as event', 'd.type', statusOf.as('status'), 'd.attempts', 'd.queued_at'])
    .select(['d.last_attempt_at', nextAttemptAt.as('next_attempt_at'), 'd.delivered_at', 'd.failed_at'])
    .select(['d.status as response_status', 'd.duration_ms', 'd.response', 'd.error', 'd.body'])
    .orderBy('d.event_id', 'desc');

export type DeliveryRow = InferResult<ReturnType<typeof deliveryRows>>[number];
