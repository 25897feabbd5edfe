import { z } from 'zod';
import { EVENT_TYPES } from '../src/services/audit/event-types.ts';
import { contentOf } from '../src/services/events/event-content.ts';
import { routesOf } from './procedure-meta.ts';
import { AnyObject, Id, Instant, InstantKey, LongIdKey, Output } from './schemas/fields.ts';
import { allowedTo, router } from './trpc.ts';

const route = routesOf('Events');

const EventType = z.enum(EVENT_TYPES.map(({ type }) => type));

const EventOutput = Output('Event', {
  /** Grows with each event. */
  id: z.int(),
  type: z.string().meta({ examples: ['user.deactivated'] }),
  /** That of the shape of `data`. */
  version: z.int().meta({ examples: [1] }),
  timestamp: Instant,
  /** The email address, slug or name of what has changed. */
  subject: z.string(),
  /** Empty if the caller was not logged in, or the service acted on its own. */
  actor: z.string(),
  clients: z.array(z.int()),
  /** As the table of docs/events.md says for each type. */
  data: AnyObject,
  request_id: z.string().nullable(),
});

const EventTypes = z
  .string()
  .transform((types) => types.split(','))
  .pipe(z.array(EventType))
  .optional();

const EventFilter = z
  .object({
    /** Separated by commas. */
    types: EventTypes,
    client: Id.optional(),
    from: InstantKey.optional(),
    /** The id of the last event that you have read. */
    cursor: LongIdKey.optional(),
    limit: z.int().min(1).max(1_000).default(100),
  })
  .prefault({});

export const eventsRouter = router({
  list: route(allowedTo('read-audit', 'poll-events'), 'GET', '/jb/events/', {
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
});
