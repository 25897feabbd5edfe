/** Entry point of `@steward/client/webhooks`: verifies requests that Steward sends to webhooks. */

import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import type { EventOf, EventType } from './events.ts';

export { WebhookVerificationError };

/** Messages by `type`. `data` is the event, with `timestamp` as text, as in JSON. */
export type WebhookMessage =
  | {
      [T in EventType]: {
        type: T;
        timestamp: string;
        data: Omit<EventOf<T>, 'timestamp'> & { timestamp: string };
      };
    }[EventType]
  /** A test that an admin has sent. */
  | { type: 'webhook.test'; timestamp: string; data: { webhook: number } };

/** A `Request` of Fetch, or its parts from another server, with the body exactly as received. */
export type WebhookRequest =
  | Request
  | { headers: Readonly<Record<string, string | string[] | undefined>>; body: string };

/**
 * Verifies the signature of a request and returns its message. Refuses requests that are older than five minutes.
 * @param secret `whsec_…`, which Steward showed when the webhook was created
 * @throws WebhookVerificationError
 */
export const verifyWebhook = async (request: WebhookRequest, secret: string): Promise<WebhookMessage> => {
  const isFetch = request instanceof Request;
  const headers = isFetch ? Object.fromEntries(request.headers) : request.headers;
  const body = isFetch ? await request.text() : request.body;
  // It reads three headers, which are never repeated.
  return new Webhook(secret).verify(body, headers as Record<string, string>) as WebhookMessage;
};
