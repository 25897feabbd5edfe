import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { AppSummaryOutput } from './schemas/apps.ts';
import {
  ClientChanges,
  ClientGateOutput,
  ClientName,
  ClientOutput,
  clientOutput,
  EmbedOrigins,
  InvitationPreviewOutput,
  InvitationTexts,
} from './schemas/clients.ts';
import { AppIds, AppKey, Extra, Id, IdCursor, IdKey, NewEmail } from './schemas/fields.ts';
import { ClientInvitationOutput, clientInvitationOutput, invitationFilter } from './schemas/invitations.ts';
import { pagingFields, toPageRequest } from './schemas/paging.ts';
import { listOf, streamFormat } from './schemas/streamed-items.ts';
import { ClientUserOutput, clientUserEncoder, clientUserOutput, userFilter } from './schemas/users.ts';
import { SiteOutput } from './sites.ts';
import { adminProcedure, protectedProcedure, router, superuserProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Clients');

const ById = z.object({ id: IdKey });

const ExpectedClient = ClientOutput.omit({ id: true, site: true }).partial();

export const clientsRouter = router({
  list: viewerProcedure
    .meta(route('GET', '/jb/clients/', { summary: 'List clients' }))
    .input(z.object(pagingFields(IdCursor)).prefault({}))
    .output(z.array(ClientOutput))
    .query(async ({ ctx, input }) =>
      (await ctx.services.clients.list(ctx.actor, toPageRequest(ctx, input))).map(clientOutput),
    ),

  get: viewerProcedure
    .meta(route('GET', '/jb/clients/{id}/', { summary: 'Get a client' }))
    .input(ById)
    .output(ClientOutput)
    .query(async ({ ctx, input }) => clientOutput(await ctx.services.clients.get(ctx.actor, input.id))),

  update: adminProcedure
    .meta(
      route('PATCH', '/jb/clients/{id}/', {
        summary: 'Update a client',
        description: 'Its texts and its password policy. Omitted fields stay unchanged.',
        resource: 'clients.get',
        example: { login_title: 'Welcome back', password_min_length: 10 },
      }),
    )
    .input(ClientChanges.partial().extend({ id: IdKey, expected: ExpectedClient.optional() }))
    .output(ClientOutput)
    .mutation(async ({ ctx, input: { id, expected, ...changes } }) =>
      clientOutput(await ctx.services.clients.update(ctx.actor, id, changes, expected)),
    ),

  site: protectedProcedure
    .meta(route('GET', '/jb/clients/{id}/site/', { summary: 'Get the site of a client' }))
    .input(ById)
    .output(SiteOutput)
    .query(({ ctx, input }) => ctx.services.sites.getByClient(ctx.actor, input.id)),

  users: viewerProcedure
    .meta(route('GET', '/jb/clients/{id}/users/', { summary: 'List the users of a client' }))
    .input(ById.extend(userFilter))
    .output(listOf(ClientUserOutput))
    .query(async ({ ctx, input }) => {
      const filter = { ...input, client: input.id };
      const format = streamFormat(ctx, input);
      if (format) return ctx.services.users.stream(ctx.actor, filter, clientUserEncoder(format, ctx.baseUrl));
      const users = await ctx.services.users.list(ctx.actor, filter, toPageRequest(ctx, input));
      return users.map((user) => clientUserOutput(user, ctx.baseUrl));
    }),

  apps: viewerProcedure
    .meta(route('GET', '/jb/clients/{id}/apps/', { summary: 'List the apps of a client' }))
    .input(ById.extend(pagingFields(AppKey)))
    .output(z.array(AppSummaryOutput))
    .query(({ ctx, input }) => ctx.services.apps.ofClient(ctx.actor, input.id, toPageRequest(ctx, input))),

  invitations: viewerProcedure
    .meta(
      route('GET', '/jb/clients/{id}/users/invitations/', {
        summary: 'List the invitations of a client',
        description: 'Pending invitations, unless `status` is set.',
      }),
    )
    .input(ById.extend(invitationFilter))
    .output(listOf(ClientInvitationOutput))
    .query(async ({ ctx, input }) => {
      const filter = { ...input, client: input.id };
      const invitations = await ctx.services.invitations.list(ctx.actor, filter, toPageRequest(ctx, input));
      return invitations.map((invitation) => clientInvitationOutput(invitation, ctx.baseUrl));
    }),

  invite: adminProcedure
    .meta(
      route('POST', '/jb/clients/{id}/users/invitations/', {
        summary: 'Invite a user to a client',
        problems: ['throttled'],
        example: { email: 'guest@acme.test', extra: { team: 'north' }, initial_apps: ['zylTKNVx'] },
      }),
    )
    .input(ById.extend({ email: NewEmail, extra: Extra.optional(), initial_apps: AppIds.default([]) }))
    .output(ClientInvitationOutput)
    .mutation(async ({ ctx, input: { id, ...invitation } }) =>
      clientInvitationOutput(
        await ctx.services.invitations.createForClient(ctx.actor, id, invitation),
        ctx.baseUrl,
      ),
    ),

  previewInvitation: viewerProcedure
    .meta(
      route('POST', '/jb/clients/{id}/invitation-preview/', {
        summary: 'Preview the invitation mail of a client',
        description: 'With the given texts, or else the saved ones. Nothing is saved or sent.',
        extension: true,
      }),
    )
    .input(ById.extend(InvitationTexts.shape))
    .output(InvitationPreviewOutput)
    .mutation(({ ctx, input: { id, ...texts } }) =>
      ctx.services.invitationPreviews.read(ctx.actor, id, texts),
    ),

  gate: viewerProcedure
    .meta(
      route('GET', '/jb/clients/{id}/gate/', {
        summary: 'Get who may open the apps of a client',
        extension: true,
      }),
    )
    .input(ById)
    .output(ClientGateOutput)
    .query(({ ctx, input }) => ctx.services.clientGate.get(ctx.actor, input.id)),

  updateGate: adminProcedure
    .meta(
      route('PATCH', '/jb/clients/{id}/gate/', {
        summary: 'Change who may open the apps of a client',
        description:
          'The apps of a closed client do not open, and its members do not see them; superusers close and reopen it. Pages of the `embed_origins` may show its apps in frames: Steward restricts its own pages, and sends the origins for the apps to proxies.',
        extension: true,
        resource: 'clients.gate',
      }),
    )
    .input(ById.extend({ is_open: z.boolean().optional(), embed_origins: EmbedOrigins.optional() }))
    .output(ClientGateOutput)
    .mutation(({ ctx, input: { id, ...changes } }) => ctx.services.clientGate.update(ctx.actor, id, changes)),

  create: superuserProcedure
    .meta(
      route('POST', '/jb/clients/', {
        summary: 'Create a client',
        status: 201,
        resource: 'clients.get',
        extension: true,
        example: { name: 'Initech' },
      }),
    )
    .input(z.object({ name: ClientName, site: Id }))
    .output(ClientOutput)
    .mutation(async ({ ctx, input }) => clientOutput(await ctx.services.clients.create(ctx.actor, input))),
});
