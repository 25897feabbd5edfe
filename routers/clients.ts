import { z } from 'zod';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import { AppSummaryView } from './schemas/apps.ts';
import {
  ClientChanges,
  ClientGateView,
  ClientName,
  ClientView,
  clientView,
  EmbedOrigins,
  InvitationPreviewView,
  InvitationTexts,
} from './schemas/clients.ts';
import { AppIds, AppKey, Extra, Id, IdCursor, IdKey, NewEmail } from './schemas/fields.ts';
import { ClientInvitationView, clientInvitationView, invitationFilter } from './schemas/invitations.ts';
import { pagingFields, toPageRequest } from './schemas/paging.ts';
import { listOf, streamFormat } from './schemas/streamed-items.ts';
import { ClientUserView, clientUserEncoder, clientUserView, userFilter } from './schemas/users.ts';
import { SiteView } from './sites.ts';
import { adminProcedure, protectedProcedure, router, superuserProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Clients');

const ById = z.object({ id: IdKey });

const ExpectedClient = ClientView.omit({ id: true, site: true }).partial();

export const clientsRouter = router({
  list: viewerProcedure
    .meta(route('GET', '/jb/clients/'))
    .input(z.object(pagingFields(IdCursor)).prefault({}))
    .output(z.array(ClientView))
    .query(async ({ ctx, input }) =>
      (await ctx.services.clients.list(ctx.actor, toPageRequest(ctx, input))).map(clientView),
    ),

  get: viewerProcedure
    .meta(route('GET', '/jb/clients/{id}/'))
    .input(ById)
    .output(ClientView)
    .query(async ({ ctx, input }) => clientView(await ctx.services.clients.get(ctx.actor, input.id))),

  update: adminProcedure
    .meta(route('PATCH', '/jb/clients/{id}/', { resource: 'clients.get' }))
    .input(ClientChanges.partial().extend({ id: IdKey, expected: ExpectedClient.optional() }))
    .output(ClientView)
    .mutation(async ({ ctx, input: { id, expected, ...changes } }) =>
      clientView(await ctx.services.clients.update(ctx.actor, id, changes, expected)),
    ),

  site: protectedProcedure
    .meta(route('GET', '/jb/clients/{id}/site/'))
    .input(ById)
    .output(SiteView)
    .query(({ ctx, input }) => ctx.services.sites.getByClient(ctx.actor, input.id)),

  users: viewerProcedure
    .meta(route('GET', '/jb/clients/{id}/users/'))
    .input(ById.extend(userFilter))
    .output(listOf(ClientUserView))
    .query(async ({ ctx, input }) => {
      const filter = { ...input, client: input.id };
      const format = streamFormat(ctx, input);
      if (format) return ctx.services.users.stream(ctx.actor, filter, clientUserEncoder(format, ctx.baseUrl));
      const users = await ctx.services.users.list(ctx.actor, filter, toPageRequest(ctx, input));
      return users.map((user) => clientUserView(user, ctx.baseUrl));
    }),

  apps: viewerProcedure
    .meta(route('GET', '/jb/clients/{id}/apps/'))
    .input(ById.extend(pagingFields(AppKey)))
    .output(z.array(AppSummaryView))
    .query(({ ctx, input }) => ctx.services.apps.ofClient(ctx.actor, input.id, toPageRequest(ctx, input))),

  invitations: viewerProcedure
    .meta(route('GET', '/jb/clients/{id}/users/invitations/'))
    .input(ById.extend(invitationFilter))
    .output(listOf(ClientInvitationView))
    .query(async ({ ctx, input }) => {
      const filter = { ...input, client: input.id };
      const invitations = await ctx.services.invitations.list(ctx.actor, filter, toPageRequest(ctx, input));
      return invitations.map((invitation) => clientInvitationView(invitation, ctx.baseUrl));
    }),

  invite: adminProcedure
    .meta(route('POST', '/jb/clients/{id}/users/invitations/'))
    .input(ById.extend({ email: NewEmail, extra: Extra.optional(), initial_apps: AppIds.default([]) }))
    .output(ClientInvitationView)
    .mutation(async ({ ctx, input: { id, ...invitation } }) =>
      clientInvitationView(
        await ctx.services.invitations.createForClient(ctx.actor, id, invitation),
        ctx.baseUrl,
      ),
    ),

  /** The mail that invitations would send with these texts. Those that are omitted are the saved ones. */
  previewInvitation: viewerProcedure
    .meta(route('POST', '/jb/clients/{id}/invitation-preview/', EXTENSION))
    .input(ById.extend(InvitationTexts.shape))
    .output(InvitationPreviewView)
    .mutation(({ ctx, input: { id, ...texts } }) =>
      ctx.services.invitationPreviews.read(ctx.actor, id, texts),
    ),

  gate: viewerProcedure
    .meta(route('GET', '/jb/clients/{id}/gate/', EXTENSION))
    .input(ById)
    .output(ClientGateView)
    .query(({ ctx, input }) => ctx.services.clientGate.get(ctx.actor, input.id)),

  updateGate: adminProcedure
    .meta(route('PATCH', '/jb/clients/{id}/gate/', { ...EXTENSION, resource: 'clients.gate' }))
    .input(ById.extend({ is_open: z.boolean().optional(), embed_origins: EmbedOrigins.optional() }))
    .output(ClientGateView)
    .mutation(({ ctx, input: { id, ...changes } }) => ctx.services.clientGate.update(ctx.actor, id, changes)),

  create: superuserProcedure
    .meta(route('POST', '/jb/clients/', { status: 201, resource: 'clients.get', ...EXTENSION }))
    .input(z.object({ name: ClientName, site: Id }))
    .output(ClientView)
    .mutation(async ({ ctx, input }) => clientView(await ctx.services.clients.create(ctx.actor, input))),
});
