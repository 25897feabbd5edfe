import { type RawBuilder, sql } from 'kysely';
import type { DisabledReason } from '../../../entities/webhook.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { NEW_MAIL, newMailValues } from '../mail/enqueue-mails.ts';
import type { Transaction } from '../unit-of-work.ts';
import { isWaiting } from './fan-out.ts';

/** Gives up on waiting deliveries. @param which SQL over `d` */
export const failWaiting = (tx: Em, which: RawBuilder<unknown>, error: string, now: Date) =>
  sql`
    update webhook_deliveries d set failed_at = ${now}::timestamptz, error = ${error}, next_attempt_at = null,
      claimed_until = null
    where ${which} and ${isWaiting()}`.execute(kysely(tx));

/** Deliveries of a webhook that is not active any more are given up; they can be replayed. Its row is locked for update. */
export const failAllWaiting = (tx: Em, webhookId: number, now: Date) =>
  failWaiting(tx, sql`d.webhook_id = ${webhookId}::int`, 'The webhook was deactivated.', now);

/** What the audit trail calls a webhook: the host of its URL, whose path may contain a secret. */
export const nameOfWebhook = (url: string): string => new URL(url).host.slice(0, 255);

type Disabled = { id: number; client_id: number | null; url: string };

/** Disables a locked webhook, and informs those who administer it. */
export const disableWebhook = async (
  { tx, now, audit }: Transaction,
  { id, client_id: clientId, url }: Disabled,
  reason: DisabledReason,
): Promise<void> => {
  await kysely(tx)
    .updateTable('webhooks')
    .set({ is_active: false, disabled_at: now, disabled_reason: reason })
    .where('id', '=', id)
    .execute();
  await failAllWaiting(tx, id, now);
  const clients = clientId === null ? [] : [clientId];
  await audit.record(tx, [
    { action: 'webhook.disable', actor: null, target: nameOfWebhook(url), clients, details: { id, reason } },
  ]);
  const admins =
    clientId === null
      ? sql`users u where u.is_superuser`
      : sql`memberships m join users u on u.id = m.user_id
          where m.client_id = ${clientId}::int and m.is_admin and m.is_active_member`;
  await sql`
    insert into outbox_mails (kind, recipient, client_id, user_id, webhook_id, ${NEW_MAIL})
    select 'webhook-disabled', u.email, ${clientId}::int, u.id, ${id}::int, ${newMailValues(now)}
    from ${admins} and u.is_active order by u.id`.execute(kysely(tx));
};
