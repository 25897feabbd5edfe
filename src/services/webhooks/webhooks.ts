import { LockMode } from '@mikro-orm/postgresql';
import { type InferResult, type RawBuilder, sql } from 'kysely';
import { Client } from '../../../entities/client.ts';
import { DISABLED_REASONS, type DisabledReason, Webhook } from '../../../entities/webhook.ts';
import { type Em, kysely, pickDefined } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { isPrivate } from '../../lib/guarded-fetch.ts';
import { invalid, notFound, roleRequired } from '../../lib/problems.ts';
import type { SealedSecrets } from '../../lib/sealed-box.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import { can, rolesThatMay } from '../access/permissions.ts';
import { isAllowedIn } from '../access/visibility.ts';
import { type ActionOn, type Changes, diffColumns, isEmpty, type Transaction } from '../audit/audit.ts';
import { readManagedClient } from '../clients/clients.ts';
import { isWaiting } from '../events/enqueue-deliveries.ts';
import { publishEvents } from '../events/event-rows.ts';
import { NEW_MAIL, newMailValues } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { createWebhookSecrets, newSecret } from './webhook-sending.ts';

export { DISABLED_REASONS };

type WebhookFields = { url: string; types: string[]; description: string };

/** `client`: null for the whole installation. */
export type WebhookInput = WebhookFields & { client: number | null };

export type WebhookChanges = {
  [K in keyof WebhookFields]?: WebhookFields[K] | undefined;
} & { is_active?: boolean | undefined };

/** Actions that record only the id and changed fields. */
type OwnAction = Exclude<ActionOn<'webhook'>, 'webhook.disable' | 'webhook.replay'>;

/** Limit per client, or for the installation: each event is enqueued for all of them. */
const MAX_WEBHOOKS = 20;
/** How long deliveries are also signed with the previous secret. */
const ROTATION_MS = DAY_MS;

/** Webhooks of a client, or of the installation. For events before a change, the settings before the change apply. */
export const createWebhooks = ({ em, clock, audit, webhookSecrets, webhookPrivateNetworks }: UnitOfWork) => {
  const record = (tx: Em, action: OwnAction, actor: Actor, row: WebhookRow, details = {}) =>
    audit.record(tx, [{ action, actor, ...aboutWebhook(row), details: { id: row.id, ...details } }]);

  /** Locks a webhook that the actor may change: events that are being published are enqueued before, or not at all. */
  const lock = async (tx: Em, actor: Actor, id: number) => {
    const before = await readWebhook(tx, actor, id);
    requireConfirmedSession(actor, clock.now());
    const webhook = await tx.findOne(Webhook, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!webhook) throw notFound('webhook');
    return { webhook, before };
  };

  /** @throws Problem `invalid-input` on `url` */
  const requireAllowed = (text: string): void => {
    if (webhookPrivateNetworks) return;
    const url = new URL(text);
    if (url.protocol !== 'https:') throw invalid({ url: ['Must be an https:// address.'] });
    if (isPrivate(url)) throw invalid({ url: ['Must not be in a private network.'] });
  };

  return {
    /** The webhooks that the actor may change. */
    list: (actor: Actor, { client }: { client?: number | undefined }, page: CursorPageRequest) => {
      let rows = webhookRows(em, actor);
      if (client !== undefined) rows = rows.where('w.client_id', '=', client);
      return readPage(afterCursor(rows, 'w.id', page.cursor), 'w.id', page);
    },

    /** @throws Problem `not-found` */
    get: (actor: Actor, id: number): Promise<WebhookRow> => readWebhook(em, actor, id),

    /** @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `invalid-input` on `url`, `client` */
    create: async (actor: Actor, input: WebhookInput): Promise<WebhookRow & { secret: string }> => {
      await publishEvents(em);
      return em.transactional(async (tx) => {
        const { client, ...fields } = input;
        if (client !== null) await readManagedClient(tx, actor, client, 'configure');
        else if (!can(actor, 'administer')) throw roleRequired(rolesThatMay('administer'));
        requireConfirmedSession(actor, clock.now());
        requireAllowed(fields.url);
        await lockLimit(tx, client);
        if ((await tx.count(Webhook, { client })) >= MAX_WEBHOOKS)
          throw invalid({ client: [`There can be ${MAX_WEBHOOKS} webhooks. Remove one first.`] });
        const created = tx.create(Webhook, {
          client: client === null ? null : tx.getReference(Client, client),
          ...fields,
          createdBy: actor.id,
          createdAt: clock.now(),
        });
        await tx.flush();
        const { id } = created;
        const secret = newSecret();
        await storeSecret(tx, webhookSecrets, id, secret);
        const row = await readWebhook(tx, actor, id);
        await record(tx, 'webhook.create', actor, row);
        return { ...row, secret };
      });
    },

    /**
     * Updates a webhook. If it is deactivated, its waiting deliveries are given up; they can be replayed.
     * @throws the problems of `create`
     */
    update: async (actor: Actor, id: number, changes: WebhookChanges): Promise<WebhookRow> => {
      await publishEvents(em);
      return em.transactional(async (tx) => {
        const { webhook, before } = await lock(tx, actor, id);
        const { is_active: isActive, ...fields } = changes;
        if (fields.url !== undefined && fields.url !== before.url) requireAllowed(fields.url);
        Object.assign(webhook, pickDefined(fields));
        // The new receiver may work.
        if (webhook.url !== before.url) webhook.retryAt = null;
        if (isActive === true && !webhook.isActive) webhook.activate();
        if (isActive === false) webhook.isActive = false;
        await tx.flush();
        if (!webhook.isActive && before.is_active) await failAllWaiting(tx, id, clock.now());
        const after = await readWebhook(tx, actor, id);
        const changed: Changes = diffColumns(before, after, ['types', 'description', 'is_active']);
        // The URL may contain a secret.
        if (after.url !== before.url) changed.url = { from: null, to: null };
        if (!isEmpty(changed)) await record(tx, 'webhook.update', actor, after, changed);
        return after;
      });
    },

    /**
     * Replaces the secret. For a day, deliveries are also signed with the previous one.
     * @throws Problem `not-found`, `reauthentication-required`
     */
    rotateSecret: (actor: Actor, id: number) =>
      em.transactional(async (tx) => {
        const { before } = await lock(tx, actor, id);
        const secret = newSecret();
        const previous_until = new Date(clock.now().getTime() + ROTATION_MS);
        await kysely(tx)
          .updateTable('webhooks')
          .set(({ ref }) => ({ previous_secret: ref('sealed_secret'), previous_until, retry_at: null }))
          .where('id', '=', id)
          .execute();
        await storeSecret(tx, webhookSecrets, id, secret);
        await record(tx, 'webhook.rotate-secret', actor, before);
        return { secret, previous_until };
      }),

    /** @throws Problem `not-found`, `reauthentication-required` */
    remove: (actor: Actor, id: number): Promise<void> =>
      em.transactional(async (tx) => {
        const { webhook, before } = await lock(tx, actor, id);
        await tx.remove(webhook).flush();
        await record(tx, 'webhook.remove', actor, before);
      }),
  };
};

/** Serializes concurrent requests that count the webhooks of a client, or of the installation: the installation has no row to lock. */
const lockLimit = (tx: Em, client: number | null) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`webhooks of ${client}`}, 0))`.execute(kysely(tx));

/** Uses Kysely, which binds the value: MikroORM writes values into the text of its statements. */
const storeSecret = (tx: Em, secrets: SealedSecrets, id: number, secret: string) =>
  kysely(tx)
    .updateTable('webhooks')
    .set({ sealed_secret: secrets.seal(id, secret) })
    .where('id', '=', id)
    .execute();

const webhookRows = (em: Em, actor: Actor) =>
  kysely(em)
    .selectFrom('webhooks as w')
    .select(['w.id', 'w.client_id as client', 'w.url', 'w.types', 'w.description', 'w.is_active'])
    .select(['w.disabled_at', 'w.disabled_reason', 'w.failing_since', 'w.created_at'])
    .select((webhook) =>
      webhook.selectFrom('users').select('email').whereRef('users.id', '=', 'w.created_by').as('created_by'),
    )
    .where(isAllowedIn(sql`w.client_id`, actor, 'configure'))
    .orderBy('w.id');

export type WebhookRow = InferResult<ReturnType<typeof webhookRows>>[number];

/** @throws Problem `not-found` for a webhook that the actor may not change */
export const readWebhook = (em: Em, actor: Actor, id: number): Promise<WebhookRow> =>
  webhookRows(em, actor)
    .where('w.id', '=', id)
    .executeTakeFirstOrThrow(() => notFound('webhook'));

/** Excludes transactions that enqueue events for it. */
export const lockForUpdate = (tx: Em, id: number) =>
  kysely(tx).selectFrom('webhooks').select('id').where('id', '=', id).forUpdate().execute();

/** Gives up on waiting deliveries. @param which SQL over `d` */
export const failWaiting = (tx: Em, which: RawBuilder<unknown>, error: string, now: Date) =>
  sql`
    update webhook_deliveries d set failed_at = ${now}::timestamptz, error = ${error}, next_attempt_at = null,
      claimed_until = null
    where ${which} and ${isWaiting()}`.execute(kysely(tx));

/**
 * Gives up the waiting deliveries of a webhook that is no longer active; they can be replayed. The row of the webhook must be locked for
 * update.
 */
const failAllWaiting = (tx: Em, webhookId: number, now: Date) =>
  failWaiting(tx, sql`d.webhook_id = ${webhookId}::int`, 'The webhook was deactivated.', now);

/** The part of an audit entry about a webhook. The target is the host of the URL, whose path may contain a secret. */
export const aboutWebhook = ({ id, client, url }: { id: number; client: number | null; url: string }) => ({
  target: { type: 'webhook', id, label: new URL(url).host.slice(0, 255) } as const,
  clients: client === null ? [] : [client],
});

type Disabled = { id: number; client_id: number | null; url: string };

/** Disables a locked webhook, and informs the users who administer it, once a day: it may be activated and fail repeatedly. */
export const disableWebhook = async (
  { tx, now, audit }: Transaction,
  { id, client_id: clientId, url }: Disabled,
  reason: DisabledReason,
): Promise<void> => {
  const webhook = await tx.findOneOrFail(Webhook, id);
  webhook.disable(reason, now);
  await tx.flush();
  await failAllWaiting(tx, id, now);
  const about = aboutWebhook({ id, client: clientId, url });
  await audit.record(tx, [{ action: 'webhook.disable', actor: null, ...about, details: { id, reason } }]);
  const admins =
    clientId === null
      ? sql`users u where u.is_superuser`
      : sql`memberships m join users u on u.id = m.user_id
          where m.client_id = ${clientId}::int and m.is_admin and m.is_active_member`;
  await sql`
    insert into outbox_mails (kind, recipient, client_id, user_id, webhook_id, ${NEW_MAIL})
    select 'webhook-disabled', u.email, ${clientId}::int, u.id, ${id}::int, ${newMailValues(now)}
    from ${admins} and u.is_active and not exists (select from outbox_mails earlier
      where earlier.webhook_id = ${id}::int and earlier.user_id = u.id and earlier.failed_at is null
        and earlier.created_at > ${new Date(now.getTime() - DAY_MS)}::timestamptz)
    order by u.id`.execute(kysely(tx));
};

/** The number of webhooks that cannot sign, because their secrets were stored with another secret key. */
export const countUnreadableWebhooks = async (em: Em, secretKey: string): Promise<number> => {
  const rows = kysely(em).selectFrom('webhooks').select(['id', 'sealed_secret']);
  return createWebhookSecrets(secretKey).countUnreadable(await rows.execute());
};
