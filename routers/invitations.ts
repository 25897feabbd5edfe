import { z } from 'zod';
import type { InvitationElement } from '../src/services/invitations/invite.ts';
import { invitationLifecycle } from './invitation-lifecycle.ts';
import { fieldErrors } from './middleware/errors.ts';
import { routesOf } from './procedure-meta.ts';
import { AppIds, EmailKey, Extra, Id, NewEmail, Slug } from './schemas/fields.ts';
import {
  InvitationOutput,
  invitationFilter,
  invitationOutput,
  invitationOutputs,
} from './schemas/invitations.ts';
import { toPageRequest } from './schemas/paging.ts';
import { listOf } from './schemas/streamed-items.ts';
import { adminProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Invitations');

const MAX_INVITATIONS_PER_REQUEST = 10_000;
const MAX_BULK_BYTES = 16 * 1024 * 1024;

const INVALID_FLAG = 'Must be "true" or "false".';

/** A string in any case, because Python's `str(True)` is "True", or a boolean. */
const DemoFlag = z
  .union([z.boolean(), z.string().regex(/^(true|false)$/i, INVALID_FLAG)], INVALID_FLAG)
  .transform((flag) => flag === true || String(flag).toLowerCase() === 'true');

const InvitationInput = z.object({
  email: NewEmail,
  client: Id.optional(),
  extra: Extra.optional(),
  initial_apps: AppIds.default([]),
  is_demo_user: DemoFlag.optional(),
});

/** Never fails, so that errors of all elements are reported together, by index. */
const Element = InvitationInput.transform((value): InvitationElement => ({ value, faults: {} })).catch(
  ({ error }) => ({ value: null, faults: fieldErrors(error) }),
);

export const invitationsRouter = router({
  ...invitationLifecycle,

  list: viewerProcedure
    .meta(
      route('GET', '/jb/users/invitations/', {
        summary: 'List your invitations',
        description:
          'The invitations that you created, for clients that you can see. With `app`, those for that app by every inviter. Pending invitations, unless `status` is set.',
        problems: ['not-found'],
      }),
    )
    .input(z.object({ app: Slug.optional(), ...invitationFilter }).prefault({}))
    .output(listOf(InvitationOutput))
    .query(async ({ ctx, input }) => {
      const invitations = await ctx.services.invitations.list(ctx.actor, input, toPageRequest(ctx, input));
      return invitationOutputs(invitations, ctx.baseUrl);
    }),

  create: adminProcedure
    .meta(
      route('POST', '/jb/users/invitations/', {
        summary: 'Invite one or more users',
        description:
          'Takes an object or an array of objects; the response has the same form. Creates all invitations or none. `dry_run` reports the result without inviting. A client can send at most 20 invitations per hour to one email address.',
        problems: ['throttled'],
        many: 'items',
        query: ['dry_run'],
        maxBodyBytes: MAX_BULK_BYTES,
        example: {
          email: 'guest@acme.test',
          extra: { team: 'north' },
          initial_apps: ['zylTKNVx'],
          client: 1,
        },
      }),
    )
    .input(
      z.object({
        items: z.array(Element).max(MAX_INVITATIONS_PER_REQUEST),
        dry_run: z.boolean().default(false),
      }),
    )
    .output(listOf(InvitationOutput))
    .mutation(async ({ ctx, input }) => {
      const dryRun = input.dry_run;
      ctx.timeLimit.liftForBulk(input.items.length);
      const invitations = await ctx.services.invitations.create(ctx.actor, input.items, { dryRun });
      return invitationOutputs(invitations, ctx.baseUrl);
    }),

  /** The invitation that `update` changes. */
  pending: viewerProcedure
    .meta(
      route('GET', '/jb/users/invitations/{email}/', {
        summary: 'Get the pending invitation of an email address',
        problems: ['ambiguous-invitation'],
        extension: true,
      }),
    )
    .input(z.object({ email: EmailKey, client: Id.optional() }))
    .output(InvitationOutput)
    .query(async ({ ctx, input: { email, client } }) =>
      invitationOutput(await ctx.services.invitations.pending(ctx.actor, email, client), ctx.baseUrl),
    ),

  update: adminProcedure
    .meta(
      route('PATCH', '/jb/users/invitations/{email}/', {
        summary: 'Update a pending invitation',
        description:
          'By the invited email address. If several clients have invited it, `client` selects the invitation.',
        problems: ['ambiguous-invitation'],
        query: ['client'],
        resource: 'invitations.pending',
        example: { initial_apps: ['zylTKNVx', 'Qm3vR8pa'] },
      }),
    )
    .input(
      z.object({
        email: EmailKey,
        client: Id.optional(),
        extra: Extra.optional(),
        initial_apps: AppIds.optional(),
      }),
    )
    .output(InvitationOutput)
    .mutation(async ({ ctx, input: { email, client, ...changes } }) =>
      invitationOutput(await ctx.services.invitations.update(ctx.actor, email, client, changes), ctx.baseUrl),
    ),
});
