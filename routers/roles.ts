import { z } from 'zod';
import { DELEGATED_ROLES } from '../src/services/access/permissions.ts';
import { routesOf } from './procedure-meta.ts';
import { ByEmail, distinct, EmailKey, IdKey } from './schemas/keys.ts';
import { pagingFields, toPageRequest } from './schemas/lists.ts';
import { Output } from './schemas/outputs.ts';
import { UserOutput, userOutput } from './schemas/users.ts';
import { router, settingsProcedure, superuserProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Roles');

const ROLE_NAMES = DELEGATED_ROLES.map(({ name }) => name);

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
    problems: ['self-modification', 'last-client-admin', 'reauthentication-required'],
    example: { is_admin: true },
  })
    .input(z.object({ id: IdKey, email: EmailKey, is_admin: z.boolean() }))
    .output(UserOutput)
    .mutation(({ ctx, input: { id, email, is_admin: isAdmin } }) =>
      ctx.services.clientRoles.setAdmin(ctx.actor, id, email, isAdmin).then(userOutput(ctx)),
    ),

  listInClient: route(viewerProcedure, 'GET', '/jb/clients/{id}/roles/', {
    summary: 'List the people with a role in a client',
    description: 'By email address.',
  })
    .input(z.object({ id: IdKey, ...pagingFields(EmailKey) }))
    .output(
      z.array(
        Output('RoleHolder', {
          email: z.string().meta({ examples: ['grace@acme.test'] }),
          first_name: z.string(),
          last_name: z.string(),
          is_admin: z.boolean(),
          roles: z.array(z.string()).meta({ examples: [['help-desk']] }),
        }),
      ),
    )
    .query(({ ctx, input }) => ctx.services.clientRoles.list(ctx.actor, input.id, toPageRequest(ctx, input))),

  setInClient: route(settingsProcedure, 'PUT', '/jb/clients/{id}/roles/{email}/', {
    summary: 'Set the delegated roles of a member',
    description:
      'Replaces them. You must have all rights of the roles that you give or end, and cannot change your own.',
    problems: ['self-modification', 'reauthentication-required'],
    example: { roles: ['help-desk'] },
  })
    .input(
      z.object({ id: IdKey, email: EmailKey, roles: distinct(z.enum(ROLE_NAMES), DELEGATED_ROLES.length) }),
    )
    .output(UserOutput)
    .mutation(({ ctx, input: { id, email, roles } }) =>
      ctx.services.clientRoles.set(ctx.actor, id, email, roles).then(userOutput(ctx)),
    ),
});
