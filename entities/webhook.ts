import { defineEntity, p } from '@mikro-orm/core';
import { Client } from './client.ts';
import { index, instant } from './columns.ts';

/** Why the service has disabled a webhook: its receiver answered 410 Gone, or all deliveries have failed for days. */
export const DISABLED_REASONS = ['gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** Sends events to a URL: the events of a client, or without a client the events of the installation. */
export const WebhookSchema = defineEntity({
  name: 'Webhook',
  tableName: 'webhooks',
  indexes: [{ properties: ['client'] }],
  properties: {
    id: p.integer().primary().autoincrement(),
    client: () => p.manyToOne(Client).nullable().deleteRule('cascade').updateRule('no action'),
    url: p.string().length(2048),
    /** Types of events; empty: all. */
    types: p.array().columnType('text[]').defaultRaw(`'{}'`),
    description: p.string().length(200).default(''),
    isActive: p.boolean().default(true),
    /** Both secrets are encrypted with the secret key of the service, for this webhook only. Null only until the row has its id. */
    sealedSecret: p.blob().nullable().hidden(),
    /** The secret before the last rotation. Deliveries are signed with both until `previousUntil`. */
    previousSecret: p.blob().nullable().hidden(),
    previousUntil: instant().nullable(),
    disabledAt: instant().nullable(),
    disabledReason: p.enum(DISABLED_REASONS).nullable(),
    /** Since when all deliveries have failed; null after a success. */
    failingSince: instant().nullable(),
    /** While deliveries fail: when the next one may be sent. */
    retryAt: instant().nullable(),
    /** The id of the user. No foreign key. */
    createdBy: p.integer().nullable(),
    createdAt: instant(),
  },
});

export class Webhook extends WebhookSchema.class {
  activate(): void {
    this.isActive = true;
    this.disabledAt = null;
    this.disabledReason = null;
    this.failingSince = null;
    this.retryAt = null;
  }

  disable(reason: DisabledReason, now: Date): void {
    this.isActive = false;
    this.disabledAt = now;
    this.disabledReason = reason;
  }
}
WebhookSchema.setClass(Webhook);

/** An event to send to a webhook (transactional outbox), inserted in the transaction that publishes the event. */
export const WebhookDelivery = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'webhook_deliveries',
  indexes: [
    index(
      'webhook_deliveries_due',
      `webhook_deliveries (webhook_id, next_attempt_at, event_id)
        where next_attempt_at is not null and delivered_at is null and failed_at is null`,
    ),
    index(
      'webhook_deliveries_by_subject',
      `webhook_deliveries (webhook_id, subject, event_id) where delivered_at is null and failed_at is null`,
    ),
    index(
      'webhook_deliveries_claimed',
      'webhook_deliveries (webhook_id, claimed_until) where claimed_until is not null',
    ),
    index(
      'webhook_deliveries_finished',
      `webhook_deliveries (coalesce(delivered_at, failed_at)) where coalesce(delivered_at, failed_at) is not null`,
    ),
  ],
  properties: {
    webhook: () => p.manyToOne(WebhookSchema).primary().deleteRule('cascade').updateRule('no action'),
    /** No foreign key: the event may be deleted before the delivery. */
    eventId: p.bigint('number').primary().autoincrement(false),
    type: p.string().length(64),
    /** A hash of the event's subject. Deliveries for one subject are sent one after another. */
    subject: p.bigint('string'),
    queuedAt: instant(),
    attempts: p.integer().default(0),
    lastAttemptAt: instant().nullable(),
    /** Null while an earlier delivery for the same subject waits. While a worker sends it, the end of its lease. */
    nextAttemptAt: instant().nullable(),
    /** The end of the lease, while a worker sends it. */
    claimedUntil: instant().nullable(),
    deliveredAt: instant().nullable(),
    failedAt: instant().nullable(),
    /** The HTTP status of the last attempt, as all fields below. */
    status: p.integer().nullable(),
    durationMs: p.integer().nullable(),
    /** The first kilobyte of the response. */
    response: p.string().length(1024).nullable(),
    /** Why there was no response. */
    error: p.string().length(500).nullable(),
    /** The request body. */
    body: p.json<Record<string, unknown>>().columnType('json').nullable(),
  },
});
