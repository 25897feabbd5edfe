import { z } from 'zod';
import { personWith } from '../src/services/access/permissions.ts';
import { MINUTES } from '../src/services/auth/login-challenges.ts';
import type { InvitationElement } from '../src/services/invitations/invite.ts';
import { INVITATION_ACTIONS, MAX_BULK_INVITATIONS } from '../src/services/operations/bulk-invitations.ts';
import { passwordRules } from '../src/services/passwords/password-rules.ts';
import { startUrl } from '../src/services/sso/connections.ts';
import { fieldErrors } from './middleware/errors.ts';
import { InvitationsBulkResultOutput, RowProblemOutput } from './operations.ts';
import { routesOf } from './procedure-meta.ts';
import { changesOf, InstantKey, NewEmail, NewPassword, OptionalInput } from './schemas/fields.ts';
import {
  AcceptedOutput,
  InvitationDetailsOutput,
  InvitationOutput,
  InvitationPageOutput,
  InvitationStatusFilter,
  invitationFilter,
  invitationOffer,
  invitationOutput,
  inviteeNames,
} from './schemas/invitations.ts';
import { ById, EmailKey, Id, IdCursor, Slug } from './schemas/keys.ts';
import { limitedPagingFields, listOf, Search, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { userOutput } from './schemas/users.ts';
import { credentialProcedure, peopleProcedure, publicProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Invitations');

const MAX_INVITATIONS_PER_REQUEST = 10_000;
const MAX_BULK_BYTES = 16 * 1024 * 1024;

const INVALID_FLAG = 'Must be "true" or "false".';

/** A boolean, or a string in any case, because Python's `str(True)` is "True". */
const DemoFlag = z
  .union([z.boolean(), z.string().regex(/^(true|false)$/i, INVALID_FLAG)], INVALID_FLAG)
  .transform((flag) => flag === true || String(flag).toLowerCase() === 'true');

const InvitationInput = z.object({
  email: NewEmail,
  ...inviteeNames,
  client: Id.optional(),
  ...invitationOffer,
  is_demo_user: DemoFlag.optional(),
});

/** Never fails, so that the errors of all elements are reported together, by index. */
const Element = InvitationInput.transform((value): InvitationElement => ({ value, faults: {} })).catch(
  ({ error }) => ({ value: null, faults: fieldErrors(error) }),
);

/** The parameters of the mailed link. Any text is accepted: an invalid link is not found. */
const MailedLink = z.object({
  key: z.string().max(256),
  signature: z
    .string()
    .max(256)
    .meta({ examples: ['aAUIAwQm-ava0n3CfbIEgG-6ouMt417mY_g-YR6s7-s'] }),
});

const InvitationLinkOutput = Output('InvitationLink', {
  id: z.int(),
  /** Null if the request for this invitation was refused, as `url` and `expires_at`. */
  email: z.string().nullable(),
  url: z.string().nullable(),
  expires_at: Instant.nullable(),
  problem: RowProblemOutput.nullable(),
});

export const invitationsRouter = router({
  search: route(viewerProcedure, 'GET', '/jb/invitations/', {
    summary: 'Search all invitations',
    description: 'Newest first. `cursor` is the id of the last invitation of the previous page.',
  })
    .input(
      OptionalInput({
        status: InvitationStatusFilter,
        client: Id.optional(),
        search: Search.optional(),
        /** Exclusive. */
        expires_before: InstantKey.optional(),
        /** The time of the request that created or renewed the invitations. */
        invited_at: InstantKey.optional(),
        ...limitedPagingFields(IdCursor),
      }),
    )
    .output(listOf(InvitationDetailsOutput))
    .query(async ({ ctx, input }) => {
      const invitations = await ctx.services.invitations.search(ctx.actor, input, toPageRequest(ctx, input));
      return invitations.map(invitationOutput(ctx));
    }),

  get: route(viewerProcedure, 'GET', '/jb/invitations/{id}/', { summary: 'Get an invitation' })
    .input(ById)
    .output(InvitationDetailsOutput)
    .query(({ ctx, input }) => ctx.services.invitations.get(ctx.actor, input.id).then(invitationOutput(ctx))),

  resend: route(credentialProcedure, 'POST', '/jb/invitations/{id}/resend/', {
    summary: 'Resend an invitation',
    problems: ['invitation-closed', 'throttled'],
  })
    .input(ById)
    .output(InvitationDetailsOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.invitations.resend(ctx.actor, input.id).then(invitationOutput(ctx)),
    ),

  revoke: route(peopleProcedure, 'POST', '/jb/invitations/{id}/revoke/', {
    summary: 'Revoke an invitation',
    description: 'Its link becomes invalid.',
    problems: ['invitation-closed'],
  })
    .input(ById)
    .output(InvitationDetailsOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.invitations.revoke(ctx.actor, input.id).then(invitationOutput(ctx)),
    ),

  bulkUpdate: route(peopleProcedure, 'POST', '/jb/invitations/bulk/', {
    summary: 'Resend or revoke many invitations',
    description:
      'Up to 1,000 ids. Each invitation is changed in a separate transaction, by the rules of the request for one; `results` has one entry for each. With an `Idempotency-Key`, a repeat continues an interrupted request and sends no mail twice; without one, it sends the mails again.',
    handlesIdempotency: true,
    example: { ids: [17, 18], action: 'resend' },
  })
    .input(
      z.object({
        ids: z.array(Id).min(1).max(MAX_BULK_INVITATIONS),
        action: z.enum(INVITATION_ACTIONS),
      }),
    )
    .output(InvitationsBulkResultOutput)
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.lift();
      return ctx.services.bulkInvitations.update(ctx.actor, input, ctx.idempotencyKey());
    }),

  /** A mutation, because the audit trail records who copied the link. */
  copyLink: route(peopleProcedure, 'POST', '/jb/invitations/{id}/link/', {
    summary: 'Get the link of an invitation',
    hasSecrets: true,
    description:
      'The request is recorded in the audit trail. If a mail server is configured, only superusers can get links.',
    problems: ['invitation-closed'],
  })
    .input(ById)
    .output(z.object({ url: z.string(), expires_at: Instant }))
    .mutation(async ({ ctx, input }) => {
      const { url, expiresAt } = await ctx.services.invitations.copyLink(ctx.actor, input.id);
      return { url, expires_at: expiresAt };
    }),

  copyLinks: route(peopleProcedure, 'POST', '/jb/invitations/links/', {
    summary: 'Get the links of many invitations',
    hasSecrets: true,
    description:
      'Up to 1,000 ids, each by the rules of the request for one; `results` has one entry for each. Each link is recorded in the audit trail.',
    // Each link has a transaction of its own. A repeat copies them again.
    handlesIdempotency: true,
    example: { ids: [17, 18] },
  })
    .input(z.object({ ids: z.array(Id).min(1).max(MAX_BULK_INVITATIONS) }))
    .output(z.object({ results: z.array(InvitationLinkOutput) }))
    .mutation(async ({ ctx, input }) => {
      ctx.timeLimit.lift();
      return { results: await ctx.services.bulkInvitations.copyLinks(ctx.actor, input.ids) };
    }),

  /** A POST, because the signature must not appear in a URL. */
  preview: route(publicProcedure, 'POST', '/invitations/{key}/', {
    summary: 'Preview an invitation by its link',
    hasSecrets: true,
    problems: ['invalid-link'],
  })
    .input(MailedLink)
    .output(InvitationPageOutput)
    .mutation(async ({ ctx, input }) => {
      const actor = await ctx.findActor();
      const { invitationAcceptance } = ctx.services;
      const opened = await invitationAcceptance.open(input.key, input.signature, actor);
      const { invitation, needs, connection, policy } = opened;
      return {
        ...invitation,
        inviter_name: `${invitation.inviter_first_name} ${invitation.inviter_last_name}`.trim(),
        apps: invitation.app_labels,
        invited_as: personWith(invitation.roles),
        needs,
        sso: connection ? { ...connection, url: startUrl(ctx.baseUrl, connection.id) } : null,
        rules: passwordRules(policy),
      };
    }),

  accept: route(publicProcedure, 'POST', '/invitations/{key}/accept/', {
    summary: 'Accept an invitation',
    hasSecrets: true,
    description:
      'New users set a password and are logged in. If the client gives them no time to set up a second factor, `needs_second_factor` is true: continue with `GET /api/v1/session/enrol/`. Users with an account must log in first.',
    problems: [
      ...(['invalid-link', 'invitation-closed', 'sso-required', 'account-inactive'] as const),
      ...(['login-required', 'confined-session'] as const),
    ],
    example: { first_name: 'Gil', last_name: 'Guest', password: 'a longer one, of words' },
  })
    .input(MailedLink.extend({ ...inviteeNames, password: NewPassword.optional() }))
    .output(AcceptedOutput)
    .mutation(async ({ ctx, input }) => {
      ctx.browser.prepareLogin();
      const { invitationAcceptance, sessions, users, authentication } = ctx.services;
      const { userAgent } = ctx.browser;
      const before = await ctx.findActor();
      const accepted = await invitationAcceptance.accept({ ...input, userAgent }, before);
      const { login, invitation } = accepted;
      const { home_location } = invitation;
      if (login && 'challenge' in login) {
        ctx.browser.challenge.keep(login.challenge, MINUTES[login.step]);
        return { user: null, home_location, needs_second_factor: true };
      }
      const actor = login === null ? before : await authentication.findBySession(login.session);
      if (login !== null) {
        if (ctx.browser.session !== null) await sessions.replace(ctx.browser.session, login.session);
        ctx.browser.keepSession(login.session);
      }
      const user = actor && (await users.get(actor, actor.email).then(userOutput(ctx)));
      return { user, home_location, needs_second_factor: false };
    }),

  list: route(viewerProcedure, 'GET', '/jb/users/invitations/', {
    summary: 'List your invitations',
    description:
      'The invitations that you created, for clients that you can see. With `app`, those for that app by every inviter. Pending invitations, unless `status` is set.',
    problems: ['not-found'],
    legacy: true,
  })
    .input(OptionalInput({ app: Slug.optional(), ...invitationFilter }))
    .output(listOf(InvitationOutput))
    .query(async ({ ctx, input }) => {
      const invitations = await ctx.services.invitations.list(ctx.actor, input, toPageRequest(ctx, input));
      return invitations.map(invitationOutput(ctx));
    }),

  create: route(peopleProcedure, 'POST', '/jb/users/invitations/', {
    summary: 'Invite one or more users',
    description:
      'Takes an object or an array of objects; the response has the same form. Creates all invitations or none. The invitee joins the `groups`, and gets the `roles`, which you must be allowed to give now and at the acceptance. The grants of `initial_apps` end at `apps_expire_at`. `dry_run` reports the result without inviting. A client can send at most 20 invitations per hour to one email address.',
    problems: ['throttled', 'reauthentication-required'],
    many: 'items',
    query: ['dry_run'],
    maxBodyBytes: MAX_BULK_BYTES,
    example: {
      email: 'guest@acme.test',
      extra: { team: 'north' },
      initial_apps: ['zylTKNVx'],
      client: 1,
    },
    legacy: true,
  })
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
      return invitations.map(invitationOutput(ctx));
    }),

  /** The invitation that `update` changes. */
  pending: route(viewerProcedure, 'GET', '/jb/users/invitations/{email}/', {
    summary: 'Get the pending invitation of an email address',
    problems: ['ambiguous-invitation'],
  })
    .input(z.object({ email: EmailKey, client: Id.optional() }))
    .output(InvitationOutput)
    .query(({ ctx, input: { email, client } }) =>
      ctx.services.invitations.pending(ctx.actor, email, client).then(invitationOutput(ctx)),
    ),

  update: route(peopleProcedure, 'PATCH', '/jb/users/invitations/{email}/', {
    summary: 'Update a pending invitation',
    description:
      'By the invited email address. If several clients have invited it, `client` selects the invitation.',
    problems: ['ambiguous-invitation', 'reauthentication-required'],
    query: ['client'],
    resourceQuery: 'invitations.pending',
    example: { initial_apps: ['zylTKNVx', 'Qm3vR8pa'] },
    legacy: true,
  })
    .input(
      z.object({
        email: EmailKey,
        client: Id.optional(),
        ...inviteeNames,
        ...changesOf(invitationOffer).shape,
      }),
    )
    .output(InvitationOutput)
    .mutation(({ ctx, input: { email, client, ...changes } }) =>
      ctx.services.invitations.update(ctx.actor, email, client, changes).then(invitationOutput(ctx)),
    ),
});
