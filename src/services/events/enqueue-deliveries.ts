import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { AUDIT_ACTIONS, eventTypeOf } from '../audit/event-types.ts';

/** SQL over a row of `webhook_deliveries`, or of this alias: whether it was neither delivered nor given up. */
export const isWaiting = (deliveries = 'd') =>
  condition`(${sql.ref(`${deliveries}.delivered_at`)} is null and ${sql.ref(`${deliveries}.failed_at`)} is null)`;

/**
 * SQL over a row of `audit_entries`, and `w` of `webhooks`: whether an admin of the webhook's client, or without a client a superuser, sees
 * it.
 */
export const isVisibleToWebhook = condition`(w.client_id is null or w.client_id = any(client_ids))`;

const TYPES = AUDIT_ACTIONS.map(eventTypeOf);

type Replay = { webhookId: number; now: Date };

/**
 * Enqueues events for the active webhooks that receive them, in the transaction that publishes the events. The first event of each subject
 * is due, unless an earlier delivery of the subject waits: then the worker that finishes the earlier one makes the next one due. Both sides
 * lock the earlier delivery, so that one of them sees the other.
 * @param isWanted SQL over `events` and `audit_entries`
 * @param replay for one webhook, including events that were delivered before
 * @returns the number of deliveries
 */
export const enqueueDeliveries = async (tx: Em, isWanted: RawBuilder<unknown>, replay?: Replay) => {
  const { numAffectedRows } = await sql`
    with listening as (
      select id, client_id, types from webhooks
      where is_active and ${replay ? sql`id = ${replay.webhookId}` : sql`true`} for key share),
    heard as (
      select w.id as webhook_id, events.id as event_id, known.type, hashtextextended(coalesce(target_type || ' ' || target_id, target_label), 0) as subject,
        ${replay ? sql`${replay.now}::timestamptz` : sql`occurred_at`} as queued_at
      from events join audit_entries on audit_entries.id = events.entry_id
        join unnest(${AUDIT_ACTIONS}::text[], ${TYPES}::text[]) as known (name, type) on known.name = action
        cross join listening w
      where ${isWanted} and (w.types = '{}' or known.type = any(w.types)) and ${isVisibleToWebhook}),
    waiting as (
      select webhook_id, subject from (select distinct webhook_id, subject from heard) s
      cross join lateral (
        select from webhook_deliveries d
        where d.webhook_id = s.webhook_id and d.subject = s.subject and ${isWaiting()}
        order by d.event_id desc limit 1 for share) last)
    insert into webhook_deliveries as d (webhook_id, event_id, type, subject, queued_at, next_attempt_at)
    select webhook_id, event_id, type, subject, queued_at, case
      when row_number() over (partition by webhook_id, subject order by event_id) = 1
        and (webhook_id, subject) not in (select webhook_id, subject from waiting) then queued_at end
    from heard
    on conflict (webhook_id, event_id) do update set queued_at = excluded.queued_at,
      next_attempt_at = excluded.next_attempt_at, attempts = 0, delivered_at = null, failed_at = null
    where not ${isWaiting()}`.execute(kysely(tx));
  return Number(numAffectedRows ?? 0);
};
