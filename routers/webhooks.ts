import { z } from 'zod';
import { DELIVERY_STATUSES } from '../src/services/webhooks/deliveries.ts';
import { DISABLED_REASONS } from '../src/services/webhooks/webhooks.ts';
import { EventType } from './events.ts';
import { routesOf } from './procedure-meta.ts';
import { BodyInstant, changesOf, OptionalInput, Text } from './schemas/fields.ts';
import { ById, distinct, Id, IdCursor, LongIdKey } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { router, settingsProcedure } from './trpc.ts';

/** The URL of a webhook may contain a secret, too. */
const route = routesOf('Webhooks', { hasSecrets: true });

const WebhookFields = {
  id: z.int(),
  /** Null: the whole installation. */
  client: z.int().nullable(),
  url: z.string().meta({ examples: ['https://hooks.acme.test/steward'] }),
  /** Empty: all types. */
  types: z.array(z.string()).meta({ examples: [['user.deactivated']] }),
  description: z.string().meta({ examples: ['The data platform'] }),
  is_active: z.boolean(),
  /** When the service disabled it, and why: the receiver answered 410, or all deliveries failed for five days. */
  disabled_at: Instant.nullable(),
  disabled_reason: z.enum(DISABLED_REASONS).nullable(),
  /** Since when all deliveries have failed; null after a success. */
  failing_since: Instant.nullable(),
  created_at: Instant,
  /** The email address of the user. */
  created_by: z.nullable(z.string()).meta({ examples: ['admin@acme.test'] }),
};

const WebhookOutput = Output('Webhook', WebhookFields);

const Secret = z.string().meta({ examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] });

const CreatedWebhookOutput = Output('CreatedWebhook', {
  ...WebhookFields,
  /** Signs the deliveries. Store it: no other response contains it. */
  secret: Secret,
});

const RotatedSecretOutput = Output('RotatedWebhookSecret', {
  secret: Secret,
  /** Until then, deliveries are also signed with the previous secret. */
  previous_until: Instant,
});

const AttemptOutput = Output('WebhookAttempt', {
  /** Null without a response. */
  status: z.nullable(z.int()).meta({ examples: [204] }),
  duration_ms: z.int().meta({ examples: [83] }),
  /** The first kilobyte. */
  response: z.string().nullable(),
  /** Why there was no response. */
  error: z.string().nullable(),
});

const DeliveryOutput = Output('WebhookDelivery', {
  /** The id of the event. The header `webhook-id` is `evt_` and this id. */
  event: z.int(),
  type: z.string().meta({ examples: ['user.deactivated'] }),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.int(),
  queued_at: Instant,
  last_attempt_at: Instant.nullable(),
  /** Null also while an earlier delivery of the same subject waits. */
  next_attempt_at: Instant.nullable(),
  delivered_at: Instant.nullable(),
  failed_at: Instant.nullable(),
  /** The HTTP status of the last attempt, as all fields below. */
  response_status: z.nullable(z.int()).meta({ examples: [204] }),
  duration_ms: z.int().nullable(),
  response: z.string().nullable(),
  error: z.string().nullable(),
  /** The request body. */
  body: AnyObject.nullable(),
});

const Url = Text(2048)
  .trim()
  .check(z.url({ protocol: /^https?$/, error: 'Must be an https:// address.', abort: true }))
  .refine((text) => {
    const { username, password, hash } = new URL(text);
    return `${username}${password}${hash}` === '';
  }, 'Must have no user name, password and fragment.');

const fields = {
  url: Url,
  /** Types of events. Empty: all. */
  types: distinct(EventType, 200)
    .meta({ examples: [['user.deactivated']] })
    .default([]),
  description: Text(200).default(''),
};

export const webhooksRouter = router({
  list: route(settingsProcedure, 'GET', '/jb/webhooks/', {
    summary: 'List webhooks',
    description:
      'The webhooks of clients that you administer. Superusers also see the webhooks of the installation, which have no `client`. `cursor` is the id of the last webhook of the previous page.',
  })
    .input(OptionalInput({ client: Id.optional(), ...limitedPagingFields(IdCursor) }))
    .output(z.array(WebhookOutput))
    .query(({ ctx, input }) => ctx.services.webhooks.list(ctx.actor, input, toPageRequest(ctx, input))),

  get: route(settingsProcedure, 'GET', '/jb/webhooks/{id}/', {
    summary: 'Get a webhook',
  })
    .input(ById)
    .output(WebhookOutput)
    .query(({ ctx, input }) => ctx.services.webhooks.get(ctx.actor, input.id)),

  create: route(settingsProcedure, 'POST', '/jb/webhooks/', {
    summary: 'Create a webhook',
    description:
      'Sends events to `url`, in the format of Standard Webhooks: the events of a client, as `events.list` shows them to an admin of this client alone; for superusers, without `client`, the events of the whole installation. The `secret` of the response signs them.',
    problems: ['not-found', 'reauthentication-required'],
    status: 201,
    example: { url: 'https://hooks.acme.test/steward', types: ['user.deactivated'], client: 1 },
  })
    .input(z.object({ ...fields, client: Id.nullable().default(null) }))
    .output(CreatedWebhookOutput)
    .mutation(({ ctx, input }) => ctx.services.webhooks.create(ctx.actor, input)),

  update: route(settingsProcedure, 'PATCH', '/jb/webhooks/{id}/', {
    summary: 'Update a webhook',
    description:
      'An inactive one hears nothing, and what waits for it is given up: replay it later. Activate one that the service has disabled with `is_active`.',
    problems: ['reauthentication-required'],
    example: { types: ['user.deactivated', 'membership.ended'] },
  })
    .input(ById.extend(changesOf({ ...fields, is_active: z.boolean() }).shape))
    .output(WebhookOutput)
    .mutation(({ ctx, input: { id, ...changes } }) => ctx.services.webhooks.update(ctx.actor, id, changes)),

  remove: route(settingsProcedure, 'DELETE', '/jb/webhooks/{id}/', {
    summary: 'Remove a webhook',
    description: 'With its deliveries.',
    problems: ['reauthentication-required'],
  })
    .input(ById)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.webhooks.remove(ctx.actor, input.id)),

  rotateSecret: route(settingsProcedure, 'POST', '/jb/webhooks/{id}/secret/', {
    summary: 'Rotate the secret of a webhook',
    description: 'For 24 hours, deliveries have two signatures: by the new secret and by the previous one.',
    problems: ['reauthentication-required'],
  })
    .input(ById)
    .output(RotatedSecretOutput)
    .mutation(({ ctx, input }) => ctx.services.webhooks.rotateSecret(ctx.actor, input.id)),

  deliveries: route(settingsProcedure, 'GET', '/jb/webhooks/{id}/deliveries/', {
    summary: 'List the deliveries of a webhook',
    description:
      'Newest events first, for seven days after they were delivered or given up. `cursor` is the `event` of the last delivery of the previous page.',
  })
    .input(
      ById.extend({
        status: z.enum(DELIVERY_STATUSES).optional(),
        ...limitedPagingFields(LongIdKey),
      }),
    )
    .output(z.array(DeliveryOutput))
    .query(({ ctx, input }) =>
      ctx.services.webhookDeliveries.list(ctx.actor, input.id, input, toPageRequest(ctx, input)),
    ),

  test: route(settingsProcedure, 'POST', '/jb/webhooks/{id}/test/', {
    summary: 'Test a webhook',
    description:
      'Sends an event `webhook.test` at once, and returns the response, for which it waits four seconds. It is not retried, and an `Idempotency-Key` has no effect.',
    // A transaction must not wait for the receiver.
    handlesIdempotency: true,
  })
    .input(ById)
    .output(AttemptOutput)
    .mutation(({ ctx, input }) => ctx.services.webhookDeliveries.test(ctx.actor, input.id)),

  replay: route(settingsProcedure, 'POST', '/jb/webhooks/{id}/replay/', {
    summary: 'Replay events',
    description:
      'Delivers an `event` again, or all events of changes since `from`, at most 10,000: those that the webhook hears, whether they were delivered or not. They have the same ids as before.',
    example: { event: 417 },
  })
    .input(
      ById.extend({
        event: LongIdKey.optional().meta({ examples: [417] }),
        from: BodyInstant.optional(),
      }).refine(
        ({ event, from }) => (event === undefined) !== (from === undefined),
        'Send either event or from.',
      ),
    )
    .output(z.object({ queued: z.int() }))
    .mutation(({ ctx, input: { id, event, from } }) =>
      ctx.services.webhookDeliveries.replay(ctx.actor, id, { event, from }),
    ),
});
