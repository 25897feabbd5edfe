import { z } from 'zod';
import { INVITATION_ACTIONS, MAX_BULK_INVITATIONS } from '../src/services/operations/bulk-invitations.ts';
import { passwordRules } from '../src/services/passwords/password-rules.ts';
import { routesOf } from './procedure-meta.ts';
import { InvitationsBulkResultOutput } from './schemas/bulk.ts';
import { Id, IdCursor, IdKey, Instant, InstantKey, NewPassword, PersonName } from './schemas/fields.ts';
import {
  AcceptedOutput,
  InvitationDetailsOutput,
  InvitationPageOutput,
  InvitationStatusFilter,
  invitationDetailsOutput,
  invitationPageOutput,
} from './schemas/invitations.ts';
import { limitedPagingFields, Search, toPageRequest } from './schemas/paging.ts';
import { listOf } from './schemas/streamed-items.ts';
import { userOutput } from './schemas/users.ts';
import { adminProcedure, publicProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Invitations');

const ById = z.object({ id: IdKey });
/** The parameters of the mailed link. Any text is accepted: an invalid link is not found. */
const MailedLink = z.object({ key: z.string().max(256), signature: z.string().max(256) });

/** Procedures for existing invitations, for admins and for invitees. */
export const invitationLifecycle = {
  search: viewerProcedure
    .meta(
      route('GET', '/jb/invitations/', {
        summary: 'Search all invitations',
        description: 'Newest first. `cursor` is the id of the last invitation of the previous page.',
        extension: true,
      }),
    )
    .input(
      z
        .object({
          status: InvitationStatusFilter,
          client: Id.optional(),
          search: Search.optional(),
          /** Exclusive. */
          expires_before: InstantKey.optional(),
          ...limitedPagingFields(IdCursor),
        })
        .prefault({}),
    )
    .output(listOf(InvitationDetailsOutput))
    .query(async ({ ctx, input }) => {
      const invitations = await ctx.services.invitations.search(ctx.actor, input, toPageRequest(ctx, input));
      return invitations.map((invitation) => invitationDetailsOutput(invitation, ctx.baseUrl));
    }),

  get: viewerProcedure
    .meta(route('GET', '/jb/invitations/{id}/', { summary: 'Get an invitation', extension: true }))
    .input(ById)
    .output(InvitationDetailsOutput)
    .query(async ({ ctx, input }) =>
      invitationDetailsOutput(await ctx.services.invitations.get(ctx.actor, input.id), ctx.baseUrl),
    ),

  resend: adminProcedure
    .meta(
      route('POST', '/jb/invitations/{id}/resend/', {
        summary: 'Resend an invitation',
        problems: ['invitation-closed', 'throttled'],
        extension: true,
      }),
    )
    .input(ById)
    .output(InvitationDetailsOutput)
    .mutation(async ({ ctx, input }) =>
      invitationDetailsOutput(await ctx.services.invitations.resend(ctx.actor, input.id), ctx.baseUrl),
    ),

  revoke: adminProcedure
    .meta(
      route('POST', '/jb/invitations/{id}/revoke/', {
        summary: 'Revoke an invitation',
        description: 'Its link becomes invalid.',
        problems: ['invitation-closed'],
        extension: true,
      }),
    )
    .input(ById)
    .output(InvitationDetailsOutput)
    .mutation(async ({ ctx, input }) =>
      invitationDetailsOutput(await ctx.services.invitations.revoke(ctx.actor, input.id), ctx.baseUrl),
    ),

  bulkUpdate: adminProcedure
    .meta(
      route('POST', '/jb/invitations/bulk/', {
        summary: 'Resend or revoke many invitations',
        description:
          'Up to 1,000 ids. Each invitation is changed in a separate transaction, by the rules of the request for one; `results` has one entry for each. With an `Idempotency-Key`, a repeat continues an interrupted request and sends no mail twice; without one, it sends the mails again.',
        handlesIdempotency: true,
        extension: true,
        example: { ids: [17, 18], action: 'resend' },
      }),
    )
    .input(
      z.object({
        ids: z.array(Id).min(1).max(MAX_BULK_INVITATIONS),
        action: z.enum(INVITATION_ACTIONS),
      }),
    )
    .output(InvitationsBulkResultOutput)
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.liftForBulk(input.ids.length);
      return ctx.services.bulkInvitations.update(ctx.actor, input, ctx.idempotencyKey());
    }),

  /** A mutation, because the audit trail records who copied the link. */
  copyLink: adminProcedure
    .meta(
      route('POST', '/jb/invitations/{id}/link/', {
        summary: 'Get the link of an invitation',
        description:
          'The request is recorded in the audit trail. If a mail server is configured, only superusers can get links.',
        problems: ['invitation-closed'],
        extension: true,
      }),
    )
    .input(ById)
    .output(z.object({ url: z.string(), expires_at: Instant }))
    .mutation(async ({ ctx, input }) => {
      const { url, expiresAt } = await ctx.services.invitations.copyLink(ctx.actor, input.id);
      return { url, expires_at: expiresAt };
    }),

  /** A POST, because the signature must not appear in a URL. */
  preview: publicProcedure
    .meta(
      route('POST', '/invitations/{key}/', {
        summary: 'Preview an invitation by its link',
        problems: ['invalid-link'],
        extension: true,
      }),
    )
    .input(MailedLink)
    .output(InvitationPageOutput)
    .mutation(async ({ ctx, input }) => {
      const actor = await ctx.authenticate();
      const opened = await ctx.services.invitationAcceptance.open(input.key, input.signature, actor);
      return { ...invitationPageOutput(opened), rules: passwordRules(opened.policy) };
    }),

  accept: publicProcedure
    .meta(
      route('POST', '/invitations/{key}/accept/', {
        summary: 'Accept an invitation',
        description: 'New users set a password and are logged in. Users with an account must log in first.',
        problems: ['invalid-link', 'invitation-closed', 'account-inactive', 'login-required', 'cross-site'],
        extension: true,
        example: { first_name: 'Gil', last_name: 'Guest', password: 'a longer one, of words' },
      }),
    )
    .input(
      MailedLink.extend({
        first_name: PersonName.default(''),
        last_name: PersonName.default(''),
        password: NewPassword.optional(),
      }),
    )
    .output(AcceptedOutput)
    .mutation(async ({ ctx, input }) => {
      ctx.browser.prepareLogin();
      const { invitationAcceptance, sessions, users, identity } = ctx.services;
      const { userAgent } = ctx.browser;
      const before = await ctx.authenticate();
      const accepted = await invitationAcceptance.accept({ ...input, userAgent }, before);
      const actor = accepted.session === null ? before : await identity.findBySession(accepted.session);
      if (accepted.session !== null) {
        if (ctx.browser.session !== null) await sessions.replace(ctx.browser.session);
        ctx.browser.keepSession(accepted.session);
        ctx.browser.keepDevice(await sessions.issueDeviceCookie(accepted.session));
      }
      const user = actor && userOutput(await users.get(actor, actor.email), ctx.baseUrl);
      return { user, home_location: accepted.invitation.home_location };
    }),
};
