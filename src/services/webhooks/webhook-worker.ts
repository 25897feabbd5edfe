import type { Logger } from '../../lib/logger.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { createQueueWorker, throttle, type WorkerOptions } from '../outbox/queue-worker.ts';
import type { ClaimedDelivery, DeliveryQueue } from './delivery-queue.ts';
import { type Attempt, isSuccess, type SendMessage, UNREADABLE } from './standard-webhooks.ts';

/** Of one worker. At most this many deliveries may be repeated when it is killed. */
const DELIVERIES_IN_FLIGHT = 200;

type Deps = WorkerOptions & {
  queue: DeliveryQueue;
  send: SendMessage;
  logger: Pick<Logger, 'info' | 'warn'>;
};

/** The id of an event in the headers of its deliveries. */
export const messageId = (eventId: number): string => `evt_${eventId}`;

/** Delivers events to webhooks. */
export const createWebhookWorker = (deps: Deps) => {
  const { queue, send, listen, clock, logger } = deps;
  const closing = new AbortController();

  const attempt = async (delivery: ClaimedDelivery): Promise<Attempt> => {
    const { event_id, url, body, secrets } = delivery;
    if (secrets.length === 0) return UNREADABLE;
    return send({ id: messageId(event_id), url, body, secrets, at: clock.now() }, closing.signal);
  };

  return createQueueWorker(
    {
      name: 'webhook',
      maxInFlight: DELIVERIES_IN_FLIGHT,
      claim: queue.claim,
      release: queue.release,
      msUntilDue: queue.msUntilDue,
      deliver: async (delivery, store) => {
        const result = await attempt(delivery);
        const outcome = isSuccess(result) ? 'delivered' : 'failed';
        telemetry.webhook.publish(() => ({ outcome }));
        const { webhook_id: webhook, event_id: event, attempts } = delivery;
        const context = { webhook, event, attempt: attempts, status: result.status, reason: result.error };
        if (outcome === 'delivered') logger.info(context, 'webhook delivered');
        else logger.warn(context, 'webhook failed');
        await store(() => queue.record(delivery, result));
      },
      close: () => closing.abort(),
    },
    { ...deps, listen: (onHeard) => listen(throttle(onHeard)) },
  );
};
