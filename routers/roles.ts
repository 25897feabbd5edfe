import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { ByEmail, EmailKey, IdKey } from './schemas/keys.ts';
import { UserOutput, userOutput } from './schemas/users.ts';
import { router, superuserProcedure } from './trpc.ts';

const route = routesOf('Roles');

const UserRolesOutput = z.object({ is_staff: z.boolean(), is_superuser: z.boolean() });

export const rolesRouter = router({
  get: route(superuserProcedure, 'GET', '/jb/users/{email}/roles/', {
    summary: 'Read the staff and superuser roles',
  })
    .input(ByEmail)
    .output(UserRolesOutput)
    .query(({ ctx, input }) => ctx.services.roles.get(ctx.actor, input.email)),

  update: route(superuserProcedure, 'PATCH', '/jb/users/{email}/roles/', {
    summary: 'Grant or revoke the staff and superuser roles',
    problems: ['self-modification', 'last-superuser', 'reauthentication-required'],
    example: { is_staff: true },
  })
    .input(UserRolesOutput.partial().extend({ email: EmailKey }))
    .output(UserOutput)
    .mutation(({ ctx, input: { email, ...changes } }) =>
      ctx.services.roles.update(ctx.actor, email, changes).then(userOutput(ctx)),
    ),

  setClientAdmin: route(superuserProcedure, 'PUT', '/jb/clients/{id}/admins/{email}/', {
    summary: 'Grant or revoke the admin role for a client',
    problems: ['reauthentication-required'],
    example: { is_admin: true },
  })
    .input(z.object({ id: IdKey, email: EmailKey, is_admin: z.boolean() }))
    .output(UserOutput)
    .mutation(({ ctx, input: { id, email, is_admin: isAdmin } }) =>
      ctx.services.roles.setClientAdmin(ctx.actor, id, email, isAdmin).then(userOutput(ctx)),
    ),
});
