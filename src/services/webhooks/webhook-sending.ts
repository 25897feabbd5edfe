import { createHmac, randomBytes } from 'node:crypto';
import { reasonOf } from '../../lib/errno.ts';
import { FetchError, type GuardedFetch } from '../../lib/guarded-fetch.ts';
import { isStorableText } from '../../lib/json-value.ts';
import type { Logger } from '../../lib/logger.ts';
import { createSealedSecrets } from '../../lib/sealed-box.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { createQueueWorker, throttle, type WorkerOptions } from '../outbox/queue-worker.ts';
import type { ClaimedDelivery, DeliveryQueue } from './delivery-queue.ts';

const SECRET_BYTES = 32;
const PREFIX = 'whsec_';

export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64');

export const createWebhookSecrets = (secretKey: string) =>
  createSealedSecrets(secretKey, 'steward webhooks', 'secret of webhook');

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
const signatureOf = (secret: string, signed: string): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64'))
    .update(signed)
    .digest('base64')}`;

export type Message = {
  /** The same for all attempts. */
  id: string;
  url: string;
  /** JSON. */
  body: string;
  /** The present secret, and during a rotation also the previous one. */
  secrets: readonly string[];
  at: Date;
};

/** `error`: why there was no response. */
export type Attempt = {
  status: number | null;
  duration_ms: number;
  /** The first kilobyte of its body. */
  response: string | null;
  error: string | null;
};

/** The result if there is no readable secret to sign with. */
export const UNREADABLE: Attempt = {
  status: null,
  duration_ms: 0,
  response: null,
  error: 'The secret was stored with another SECRET_KEY. Rotate it.',
};

export type SendMessage = ReturnType<typeof createSender>;

/** Limit of a response. */
export const MAX_RESPONSE_BYTES = 1_024;
const MAX_ERROR_LENGTH = 500;

/** Sends messages in the format of Standard Webhooks. Never rejects. @param fetch must not follow redirects */
export const createSender =
  (fetch: GuardedFetch) =>
  async ({ id, url, body, secrets, at }: Message, signal?: AbortSignal): Promise<Attempt> => {
    const timestamp = String(Math.floor(at.getTime() / 1000));
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Steward',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': secrets
        .map((secret) => signatureOf(secret, `${id}.${timestamp}.${body}`))
        .join(' '),
    };
    const startedAt = performance.now();
    const attempt = (result: Omit<Attempt, 'duration_ms'>): Attempt => ({
      ...result,
      duration_ms: Math.round(performance.now() - startedAt),
    });
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal });
      const text = await response.text();
      return attempt({ status: response.status, response: isStorableText(text) ? text : null, error: null });
    } catch (error) {
      const reason = isAborted(error) ? 'There was no response in time.' : reasonOf(error);
      return attempt({ status: null, response: null, error: reason.slice(0, MAX_ERROR_LENGTH) });
    }
  };

const isAborted = (error: unknown): boolean =>
  error instanceof FetchError && error.cause instanceof Error && error.cause.name === 'AbortError';

export const isSuccess = ({ status }: Pick<Attempt, 'status'>): boolean =>
  status !== null && status >= 200 && status < 300;

/** Per worker. At most this many deliveries may be repeated if the worker is killed. */
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
