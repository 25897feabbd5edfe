import { z } from 'zod';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import { EmailKey, IdKey } from './schemas/fields.ts';
import { UserView, userView } from './schemas/users.ts';
import { router, superuserProcedure } from './trpc.ts';

const route = routesOf('Roles');

export const rolesRouter = router({
  update: superuserProcedure
    .meta(route('PATCH', '/jb/users/{email}/roles/', EXTENSION))
    .input(
      z.object({ email: EmailKey, is_staff: z.boolean().optional(), is_superuser: z.boolean().optional() }),
    )
    .output(UserView)
    .mutation(async ({ ctx, input: { email, ...changes } }) =>
      userView(await ctx.services.roles.update(ctx.actor, email, changes), ctx.baseUrl),
    ),

  setClientAdmin: superuserProcedure
    .meta(route('PUT', '/jb/clients/{id}/admins/{email}/', EXTENSION))
    .input(z.object({ id: IdKey, email: EmailKey, is_admin: z.boolean() }))
    .output(UserView)
    .mutation(async ({ ctx, input }) => {
      const { id, email, is_admin: isAdmin } = input;
      return userView(await ctx.services.roles.setClientAdmin(ctx.actor, id, email, isAdmin), ctx.baseUrl);
    }),
});
