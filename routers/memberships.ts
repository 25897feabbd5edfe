import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { Extra } from './schemas/fields.ts';
import { ByEmail, EmailKey, IdKey } from './schemas/keys.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { memberProcedure, peopleProcedure, router } from './trpc.ts';

const route = routesOf('Memberships');

const MembershipOutput = Output('Membership', {
  /** Id of the client. */
  client: z.int(),
  client_name: z.string(),
  /** A suspended member keeps the roles, but they do not count. */
  is_admin: z.boolean(),
  /** Names of delegated roles. */
  roles: z.array(z.string()),
  /** False if the user is suspended in this client. An inactive account cannot open apps in either case. */
  is_active: z.boolean(),
  /** Free-form data for the apps of the client. */
  extra: AnyObject,
  is_demo_user: z.boolean(),
  /** When the membership began, or was last reactivated. */
  joined_at: Instant,
  /** When it was suspended; null while it is active. */
  ended_at: Instant.nullable(),
});

const Member = z.object({ id: IdKey, email: EmailKey });

export const membershipsRouter = router({
  list: route(memberProcedure, 'GET', '/jb/users/{email}/memberships/', {
    summary: 'List the clients of a user',
    description: 'Client admins see the memberships in their clients, users all their memberships.',
  })
    .input(ByEmail)
    .output(z.array(MembershipOutput))
    .query(({ ctx, input }) => ctx.services.memberships.list(ctx.actor, input.email)),

  update: route(peopleProcedure, 'PATCH', '/jb/clients/{id}/users/{email}/', {
    summary: 'Change a membership',
    description:
      'Changes what counts in this client and nothing elsewhere, also of people who belong to no other client. `is_active: false` suspends the member: they keep their apps, groups, roles and data of the client, but these do not count until `is_active: true` reactivates them. Launches, and pending invitations to the client, end.',
    problems: ['client-admin-locked', 'shared-user'],
    example: { extra: { region: 'north' } },
  })
    .input(
      Member.extend({
        is_active: z.boolean().optional(),
        extra: Extra.optional(),
        is_demo_user: z.boolean().optional(),
      }),
    )
    .output(MembershipOutput)
    .mutation(({ ctx, input: { id, email, ...changes } }) =>
      ctx.services.memberships.update(ctx.actor, id, email, changes),
    ),

  previewRemoval: route(peopleProcedure, 'GET', '/jb/clients/{id}/users/{email}/removal/', {
    summary: 'Show what the removal of a member would end',
    description: 'Changes nothing.',
    problems: ['client-admin-locked', 'self-modification'],
  })
    .input(Member)
    .output(
      Output('MembershipRemoval', {
        /** The apps of the client that the user loses, oldest first. */
        apps: z.array(Output('RevokedApp', { id: z.string(), label: z.string() })),
        /** Names of the groups that the user leaves, with the apps that these give. */
        groups: z.array(z.string()),
        /** Active access views of the client that open an app as this user. They would stop working. */
        access_views: z.int(),
        /** Whether the user belongs to no other client, so that the account is deactivated. */
        deactivates_account: z.boolean(),
      }),
    )
    .query(({ ctx, input }) => ctx.services.memberships.previewRemoval(ctx.actor, input.id, input.email)),

  remove: route(peopleProcedure, 'DELETE', '/jb/clients/{id}/users/{email}/', {
    summary: 'Remove a member from a client',
    description:
      'Ends the membership, revokes the apps of the client and ends their launches. A user who belongs to no other client, and is neither staff nor superuser, is deactivated.',
    problems: ['client-admin-locked', 'self-modification', 'last-superuser'],
  })
    .input(Member)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.memberships.remove(ctx.actor, input.id, input.email)),
});
