import { z } from 'zod';
import type { TicketClaims } from '../src/lib/ticket-claims.ts';
import { routesOf } from './procedure-meta.ts';
import { OptionalInput, Text } from './schemas/fields.ts';
import { AppKey, EmailKey } from './schemas/keys.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { allowedTo, publicProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Tickets', { hasSecrets: true });

/** Parsing a form takes quadratic time, and the endpoint is public. */
const MAX_CODE_BYTES = 16 * 1024;

export const TicketOutput = Output('Ticket', { ticket: z.string(), expires_at: Instant });

/** The response of RFC 7662. Only an active ticket has claims. */
const IntrospectionOutput = Output('Introspection', {
  active: z.boolean(),
  ...z
    .object({
      iss: z.string(),
      aud: z.string(),
      sub: z.string(),
      email: z.string().nullable(),
      name: z.string().nullable(),
      client: z.object({ id: z.int(), name: z.string() }),
      app: z.object({ id: z.string(), slug: z.string(), label: z.string() }),
      stack: z.string().nullable(),
      roles: z.array(z.string()),
      /** The keys of the person's roles in the app. */
      app_roles: z.array(z.string()),
      data_permissions: AnyObject.nullable(),
      selections: AnyObject,
      is_demo_user: z.boolean(),
      access_view: z.int().nullable(),
      show_header: z.boolean(),
      show_footer: z.boolean(),
      language_code: z.string(),
      /** Who looks at the app as the person of the ticket. */
      act: z.object({ sub: z.string(), email: z.string() }).nullable(),
      read_only: z.boolean(),
      amr: z.array(z.string()),
      auth_time: z.int().nullable(),
      jti: z.string(),
      iat: z.int(),
      exp: z.int(),
      issued_ms: z.int(),
    } satisfies Record<keyof TicketClaims, z.ZodType>)
    .partial().shape,
});

export const ticketsRouter = router({
  exchange: route(publicProcedure, 'POST', '/gate/exchange/', {
    summary: 'Exchange a launch code for a ticket',
    description:
      'For the server of an app, which received `code` at its launch URL. A code works once, within 60 seconds, for the app with this slug.',
    problems: ['invalid-launch-code', 'app-in-maintenance'],
    forms: true,
    jsonOnly: true,
    maxBodyBytes: MAX_CODE_BYTES,
  })
    .input(z.object({ code: Text(255), app: Text(255) }))
    .output(TicketOutput)
    .mutation(({ ctx, input }) => ctx.services.launches.exchange(input.code, input.app)),

  /** A mutation, because queries send their input in the URL. */
  introspect: route(viewerProcedure, 'POST', '/gate/introspect/', {
    summary: 'Check a ticket',
    description:
      'RFC 7662. Whether the ticket is valid, not revoked, and its owner may still open the app; if so, with its claims. Tickets for apps of other clients are not active for you.',
    forms: true,
  })
    .input(z.object({ token: z.string() }))
    .output(IntrospectionOutput)
    .mutation(async ({ ctx, input }) => {
      const claims = await ctx.services.tickets.introspect(ctx.actor, input.token);
      return claims ? { active: true, ...claims } : { active: false };
    }),

  revoke: route(allowedTo('client', 'manage-apps', 'manage-credentials'), 'POST', '/jb/tickets/revoke/', {
    summary: 'Revoke tickets',
    description:
      'Revokes the tickets of an access view (its id, as in the ticket, or its key), of a user (email address), or for an app (id) that were issued until now; superusers may revoke `all`. Launch codes, embedded pages and logins by OpenID Connect end too. Name exactly one.',
    problems: ['not-found', 'shared-user'],
  })
    .input(
      OptionalInput({
        access_view: Text(64).optional(),
        user: EmailKey.optional(),
        app_id: AppKey.optional(),
        all: z.literal(true).optional(),
      }),
    )
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.ticketRevocations.revoke(ctx.actor, input)),
});
