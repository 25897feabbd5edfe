import { z } from 'zod';
import { Download } from '../src/lib/download.ts';
import { MAX_BULK_USERS } from '../src/services/operations/bulk-update.ts';
import { dataRightsProcedures } from './data-rights.ts';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import { BulkInput, BulkResultOutput, bulkResultOutput, toBulkRequest } from './schemas/bulk.ts';
import { AppIds, EmailKey, Extra, Id, IdKey, NewEmail, PersonName, Slug } from './schemas/fields.ts';
import { toPageRequest } from './schemas/paging.ts';
import { listOf, streamFormat } from './schemas/streamed-items.ts';
import { csvOf, TableColumns, TableOutput, tablePages } from './schemas/user-table.ts';
import {
  UserOutput,
  UserPermissionsOutput,
  userConditions,
  userEncoder,
  userFilter,
  userOutput,
  userSort,
} from './schemas/users.ts';
import { adminProcedure, protectedProcedure, router, superuserProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Users');
const rolesRoute = routesOf('Roles');

const ByEmail = z.object({ email: EmailKey });

const ExpectedUser = UserOutput.pick({
  first_name: true,
  last_name: true,
  extra: true,
  is_active: true,
  is_demo_user: true,
  apps: true,
}).partial();

export const usersRouter = router({
  list: viewerProcedure
    .meta(route('GET', '/jb/users/'))
    .input(z.object({ app: Slug.optional(), client: Id.optional(), ...userFilter }).prefault({}))
    .output(listOf(UserOutput))
    .query(async ({ ctx, input }) => {
      const format = streamFormat(ctx, input);
      if (format) return ctx.services.users.stream(ctx.actor, input, userEncoder(format, ctx.baseUrl));
      const users = await ctx.services.users.list(ctx.actor, input, toPageRequest(ctx, input));
      return users.map((user) => userOutput(user, ctx.baseUrl));
    }),

  /** The number of users that `list` returns for the same conditions. */
  count: viewerProcedure
    .meta(route('GET', '/jb/users/count/', EXTENSION))
    .input(z.object({ app: Slug.optional(), client: Id.optional(), ...userConditions }).prefault({}))
    .output(z.object({ count: z.int() }))
    .query(async ({ ctx, input }) => ({ count: await ctx.services.users.count(ctx.actor, input) })),

  /** All users that match, for files: in the order of `sort`, with the chosen columns. */
  table: viewerProcedure
    .meta(route('GET', '/jb/users/table/', { download: 'text/csv', ...EXTENSION }))
    .input(
      z
        .object({
          app: Slug.optional(),
          client: Id.optional(),
          ...userConditions,
          sort: userSort,
          columns: TableColumns,
        })
        .prefault({}),
    )
    .output(TableOutput)
    .query(async ({ ctx, input: { columns, ...filter } }) => {
      const users = await ctx.services.userTables.open(ctx.actor, filter);
      const pages = tablePages(users, columns, ctx.baseUrl);
      return ctx.isDownload ? new Download('users.csv', csvOf(pages, columns)) : pages;
    }),

  get: protectedProcedure
    .meta(route('GET', '/jb/users/{email}/'))
    .input(ByEmail)
    .output(UserOutput)
    .query(async ({ ctx, input }) =>
      userOutput(await ctx.services.users.get(ctx.actor, input.email), ctx.baseUrl),
    ),

  /** For screens, which offer nothing that the service would refuse. */
  permissions: protectedProcedure
    .meta(route('GET', '/jb/users/{email}/permissions/', EXTENSION))
    .input(ByEmail)
    .output(UserPermissionsOutput)
    .query(({ ctx, input }) => ctx.services.userPermissions.read(ctx.actor, input.email)),

  create: adminProcedure
    .meta(route('POST', '/jb/users/'))
    .input(
      z.object({
        email: NewEmail,
        first_name: PersonName.default(''),
        last_name: PersonName.default(''),
        extra: Extra.default({}),
        is_demo_user: z.boolean().default(false),
        apps: AppIds.default([]),
        client: Id.optional(),
        send_email: z.boolean().default(true),
      }),
    )
    .output(UserOutput)
    .mutation(async ({ ctx, input }) =>
      userOutput(await ctx.services.userCreation.create(ctx.actor, input), ctx.baseUrl),
    ),

  update: adminProcedure
    .meta(route('PATCH', '/jb/users/{email}/', { resource: 'users.get' }))
    .input(
      z.object({
        email: EmailKey,
        first_name: PersonName.optional(),
        last_name: PersonName.optional(),
        extra: Extra.optional(),
        is_active: z.boolean().optional(),
        is_demo_user: z.boolean().optional(),
        apps: AppIds.optional(),
        expected: ExpectedUser.optional(),
      }),
    )
    .output(UserOutput)
    .mutation(async ({ ctx, input: { email, ...changes } }) =>
      userOutput(await ctx.services.userUpdates.update(ctx.actor, email, changes), ctx.baseUrl),
    ),

  deactivate: adminProcedure
    .meta(route('DELETE', '/jb/users/{email}/', { status: 204, resource: 'users.get' }))
    .input(ByEmail)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.userUpdates.deactivate(ctx.actor, input.email)),

  /** Makes one change to up to 1,000 users, each by the rules of `update`. */
  bulkUpdate: adminProcedure
    .meta(route('POST', '/jb/users/bulk/', { handlesIdempotency: true, ...EXTENSION }))
    .input(BulkInput)
    .output(BulkResultOutput)
    .mutation(async ({ ctx, input }) => {
      const request = toBulkRequest(input);
      ctx.timeLimit.liftForBulk(input.emails?.length ?? MAX_BULK_USERS);
      return bulkResultOutput(
        await ctx.services.bulkUpdates.update(ctx.actor, request, ctx.idempotencyKey()),
      );
    }),

  ...dataRightsProcedures,
});

const UserRolesOutput = z.object({ is_staff: z.boolean(), is_superuser: z.boolean() });

export const rolesRouter = router({
  get: superuserProcedure
    .meta(rolesRoute('GET', '/jb/users/{email}/roles/', EXTENSION))
    .input(ByEmail)
    .output(UserRolesOutput)
    .query(({ ctx, input }) => ctx.services.roles.get(ctx.actor, input.email)),

  update: superuserProcedure
    .meta(rolesRoute('PATCH', '/jb/users/{email}/roles/', EXTENSION))
    .input(UserRolesOutput.partial().extend({ email: EmailKey }))
    .output(UserOutput)
    .mutation(async ({ ctx, input: { email, ...changes } }) =>
      userOutput(await ctx.services.roles.update(ctx.actor, email, changes), ctx.baseUrl),
    ),

  setClientAdmin: superuserProcedure
    .meta(rolesRoute('PUT', '/jb/clients/{id}/admins/{email}/', EXTENSION))
    .input(z.object({ id: IdKey, email: EmailKey, is_admin: z.boolean() }))
    .output(UserOutput)
    .mutation(async ({ ctx, input }) => {
      const { id, email, is_admin: isAdmin } = input;
      return userOutput(await ctx.services.roles.setClientAdmin(ctx.actor, id, email, isAdmin), ctx.baseUrl);
    }),
});
