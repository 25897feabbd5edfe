import { z } from 'zod';
import { AppSummaryView } from './schemas/apps.ts';
import { ClientChanges, ClientName, ClientView, clientView } from './schemas/clients.ts';
import { AppIds, AppKey, Email, Extra, Id, IdCursor, IdKey } from './schemas/fields.ts';
import { ClientInvitationView, clientInvitationView, invitationFilter } from './schemas/invitations.ts';
import { pagingFields, toPageRequest } from './schemas/paging.ts';
import { listOf, streamFormat } from './schemas/streamed-items.ts';
import { ClientUserView, clientUserEncoder, clientUserView, userFilter } from './schemas/users.ts';
import { SiteView } from './sites.ts';
import { adminProcedure, protectedProcedure, router, superuserProcedure, viewerProcedure } from './trpc.ts';

const tags = ['Clients'];
const ById = z.object({ id: IdKey });

export const clientsRouter = router({
  list: viewerProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/clients/', tags } })
    .input(z.object(pagingFields(IdCursor)).prefault({}))
    .output(z.array(ClientView))
    .query(async ({ ctx, input }) =>
      (await ctx.services.clients.list(ctx.actor, toPageRequest(ctx, input))).map(clientView),
    ),

  get: viewerProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/clients/{id}/', tags } })
    .input(ById)
    .output(ClientView)
    .query(async ({ ctx, input }) => clientView(await ctx.services.clients.get(ctx.actor, input.id))),

  update: adminProcedure
    .meta({
      openapi: { method: 'PATCH', path: '/jb/clients/{id}/', tags },
      rest: { resource: 'clients.get' },
    })
    .input(ClientChanges.partial().extend({ id: IdKey }))
    .output(ClientView)
    .mutation(async ({ ctx, input: { id, ...changes } }) =>
      clientView(await ctx.services.clients.update(ctx.actor, id, changes)),
    ),

  site: protectedProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/clients/{id}/site/', tags } })
    .input(ById)
    .output(SiteView)
    .query(({ ctx, input }) => ctx.services.sites.getByClient(ctx.actor, input.id)),

  users: viewerProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/clients/{id}/users/', tags } })
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
    .meta({ openapi: { method: 'GET', path: '/jb/clients/{id}/apps/', tags } })
    .input(ById.extend(pagingFields(AppKey)))
    .output(z.array(AppSummaryView))
    .query(({ ctx, input }) => ctx.services.apps.ofClient(ctx.actor, input.id, toPageRequest(ctx, input))),

  invitations: viewerProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/clients/{id}/users/invitations/', tags } })
    .input(ById.extend(invitationFilter))
    .output(listOf(ClientInvitationView))
    .query(async ({ ctx, input }) => {
      const page = toPageRequest(ctx, input);
      const invitations = await ctx.services.invitations.ofClient(ctx.actor, input.id, input, page);
      return invitations.map((invitation) => clientInvitationView(invitation, ctx.baseUrl));
    }),

  invite: adminProcedure
    .meta({ openapi: { method: 'POST', path: '/jb/clients/{id}/users/invitations/', tags } })
    .input(ById.extend({ email: Email, extra: Extra.optional(), initial_apps: AppIds.default([]) }))
    .output(ClientInvitationView)
    .mutation(async ({ ctx, input: { id, ...invitation } }) =>
      clientInvitationView(
        await ctx.services.invitations.createForClient(ctx.actor, id, invitation),
        ctx.baseUrl,
      ),
    ),

  create: superuserProcedure
    .meta({
      openapi: { method: 'POST', path: '/jb/clients/', tags },
      rest: { status: 201, resource: 'clients.get', extension: true },
    })
    .input(z.object({ name: ClientName, site: Id }))
    .output(ClientView)
    .mutation(async ({ ctx, input }) => clientView(await ctx.services.clients.create(ctx.actor, input))),
});
