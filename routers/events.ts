import { tracked } from '@trpc/server';
import { z } from 'zod';
import { roleRequired, scopeRequired } from '../src/lib/problems.ts';
import type { Actor } from '../src/services/access/actor.ts';
import { can, rolesThatMay } from '../src/services/access/permissions.ts';
import { hasScope } from '../src/services/access/scope.ts';
import { EVENT_TYPES, type EventData } from '../src/services/audit/event-types.ts';
import type { HeardEvent } from '../src/services/events/event-hub.ts';
import { contentOf } from '../src/services/events/event-rows.ts';
import { ActorType, READERS } from './audit.ts';
import { trpcErrorOf } from './middleware/errors.ts';
import { routesOf } from './procedure-meta.ts';
import { InstantKey, NoInput, OptionalInput } from './schemas/fields.ts';
import { Id, LongIdKey } from './schemas/keys.ts';
import { streamOf } from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { allowedTo, router } from './trpc.ts';

const route = routesOf('Events');

export const EventType = z.enum(EVENT_TYPES.map(({ type }) => type));

const EventFields = Output('Event', {
  /** Grows with each event. */
  id: z.int(),
  type: z.string().meta({ examples: ['user.deactivated'] }),
  /** The version of the shape of `data`. */
  version: z.int().meta({ examples: [1] }),
  timestamp: Instant,
  /** The email address, slug or name of the changed object. */
  subject: z.string(),
  /** `user`, `app`, `client` … */
  subject_type: z.string().nullable(),
  /** Null for an address without an account, for example. */
  subject_id: z.string().nullable(),
  /** Empty if the caller was not logged in, or if the service acted on its own. */
  actor: z.string(),
  actor_type: ActorType,
  actor_id: z.int().nullable(),
  clients: z.array(z.int()),
  /** The table in docs/events.md describes it for each type. */
  data: AnyObject,
  request_id: z.string().nullable(),
});

type EventFields = z.output<typeof EventFields>;
type EventType = z.output<typeof EventType>;

/** Events by their type. Data that the caller may not see is absent or null. */
type TypedEvent = {
  [T in EventType]: Omit<EventFields, 'type' | 'data'> & { type: T; data: Partial<EventData[T]> };
}[EventType];

// Only the type is narrowed: recorded data is not validated again.
const EventOutput = EventFields as z.ZodType as z.ZodType<TypedEvent>;

const eventConditions = {
  /** Separated by commas. */
  types: z
    .string()
    .transform((types) => types.split(','))
    .pipe(z.array(EventType))
    .optional(),
  client: Id.optional(),
};

const EventFilter = OptionalInput({
  ...eventConditions,
  from: InstantKey.optional(),
  /** The id of the last event that you have read. */
  cursor: LongIdKey.optional(),
  limit: z.int().min(1).max(1_000).default(100),
});

const EventStreamFilter = OptionalInput({
  ...eventConditions,
  /** The id of the last event that you have read. Without it, the stream begins with the next event. */
  cursor: LongIdKey.optional(),
  /** Like `cursor`, from the header `Last-Event-ID` that clients send when they reconnect. */
  lastEventId: z.coerce.number<string | number>().pipe(LongIdKey).optional(),
});

async function* outputsOf(events: AsyncIterable<HeardEvent>) {
  for await (const { row, actor } of events)
    yield tracked(String(row.id), EventOutput.parse(contentOf(row, actor)));
}

export const eventsRouter = router({
  list: route(allowedTo('client', ...READERS), 'GET', '/jb/events/', {
    summary: 'List events',
    description:
      'What happened, oldest first: the entries of the audit trail that you may see, as events. Call it again with the `id` of the last event as `cursor` to get the next ones: none is missed, whichever transactions end in which order. Without a `cursor`, begin with `from`.',
  })
    .input(EventFilter)
    .output(z.array(EventOutput))
    .query(async ({ ctx, input }) => {
      const rows = await ctx.services.events.list(ctx.actor, input);
      return rows.map((row) => contentOf(row, ctx.actor));
    }),

  position: route(allowedTo('client', ...READERS), 'GET', '/jb/events/position/', {
    summary: 'Get the position of the newest event',
    description:
      'The `cursor` with which `GET /api/v1/jb/events/` and the stream begin with the next event, however late they are called.',
  })
    .input(NoInput)
    .output(Output('EventPosition', { cursor: z.int() }))
    .query(async ({ ctx }) => ({ cursor: await ctx.services.events.position() })),

  stream: route(allowedTo('client', ...READERS), 'GET', '/jb/events/stream/', {
    summary: 'Stream events',
    description:
      'The events of `GET /api/v1/jb/events/` as they happen, as server-sent events: each has its `id`, and the same JSON as `data`. A client that connects again sends the id of its last event as `Last-Event-ID` and misses nothing. What you may see is checked again before each event: the stream ends when you log out or lose the role. A comment is sent every 15 seconds. tRPC: a subscription, with `httpSubscriptionLink`.',
    isEventStream: true,
  })
    .input(EventStreamFilter)
    .output(streamOf(EventOutput))
    .subscription(({ ctx, input: { lastEventId, ...filter }, signal }) => {
      const confirm = async (): Promise<Actor> => {
        const actor = await ctx.findActor({ isFresh: true });
        if (!actor) throw trpcErrorOf(ctx.unauthenticated());
        if (!READERS.some((action) => can(actor, action)))
          throw trpcErrorOf(roleRequired(rolesThatMay(...READERS)));
        if (!hasScope(actor.scope, 'events:read')) throw trpcErrorOf(scopeRequired('events:read'));
        ctx.recordUse(actor, 'events.stream', ['events:read']);
        return actor;
      };
      const cursor = lastEventId ?? filter.cursor;
      const { actor } = ctx;
      return outputsOf(ctx.services.events.follow({ ...filter, cursor }, { actor, confirm, signal }));
    }),
});
