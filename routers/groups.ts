import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { changesOf, Extra, Name, Text } from './schemas/fields.ts';
import { AppIds, AppKey, ById, distinct, EmailKey, IdCursor, IdKey } from './schemas/keys.ts';
import { limitedPagingFields, Search, toPageRequest } from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { personIdentity } from './schemas/users.ts';
import { peopleProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Groups');

const MAX_MEMBERS = 5_000;
const MAX_APP_ROLES = 50;

const GroupOutput = Output('Group', {
  id: z.int(),
  client: z.int(),
  name: z.string(),
  created_at: Instant,
  member_count: z.int(),
  /** Ids of the apps that the members have, oldest first. */
  apps: z.array(z.string()),
  /** Data permissions of its members; null: none. */
  attributes: AnyObject.nullable(),
  /** Among several groups of a person, single values of the lowest rank count, then of the oldest group. Lists are united. */
  rank: z.int(),
  /** By app id, the roles of the members there. */
  app_roles: z.record(z.string(), z.array(z.string())),
});

const GroupDetailOutput = Output('GroupDetail', {
  ...GroupOutput.shape,
  /** Email addresses. Suspended and inactive members are listed, but cannot open the apps. */
  members: z.array(z.string()),
});

const GroupScreenOutput = z.object({
  ...GroupOutput.shape,
  members: z.array(z.object({ ...personIdentity, is_active: z.boolean() })),
  /** How many people would lose the app without the group. */
  losses: z.array(z.object({ app: z.string(), people: z.int() })),
});

const Members = distinct(EmailKey, MAX_MEMBERS);

const given = {
  attributes: Extra.nullable().optional(),
  rank: z.int().min(0).max(10_000).optional(),
  app_roles: z.record(AppKey, distinct(Text(64), MAX_APP_ROLES)).optional(),
};

const fields = { name: Name(100), members: Members.default([]), apps: AppIds.default([]), ...given };

const ByGroup = ById.extend({ group_id: IdKey });

export const groupsRouter = router({
  list: route(viewerProcedure, 'GET', '/jb/clients/{id}/groups/', {
    summary: 'List the groups of a client',
    description: 'Oldest first. `cursor` is the id of the last group of the previous page.',
  })
    .input(ById.extend(limitedPagingFields(IdCursor)))
    .output(z.array(GroupOutput))
    .query(({ ctx, input }) => ctx.services.groups.list(ctx.actor, input.id, toPageRequest(ctx, input))),

  get: route(viewerProcedure, 'GET', '/jb/clients/{id}/groups/{group_id}/', {
    summary: 'Get a group with its members',
  })
    .input(ByGroup)
    .output(GroupDetailOutput)
    .query(({ ctx, input }) => ctx.services.groups.get(ctx.actor, input.id, input.group_id)),

  create: route(peopleProcedure, 'POST', '/jb/clients/{id}/groups/', {
    summary: 'Create a group',
    description:
      'Members of the client who have all apps of the group, in addition to their own. `attributes` are data permissions of the members, `app_roles` their roles in the apps, by app id.',
    status: 201,
    example: { name: 'Finance', members: ['ada@acme.test'], apps: ['zylTKNVx'] },
  })
    .input(ById.extend(fields))
    .output(GroupDetailOutput)
    .mutation(({ ctx, input: { id, ...group } }) => ctx.services.groups.create(ctx.actor, id, group)),

  update: route(peopleProcedure, 'PATCH', '/jb/clients/{id}/groups/{group_id}/', {
    summary: 'Change a group',
    description:
      'Omitted fields stay unchanged. `members` and `apps` replace the members and apps of the group.',
    example: { apps: ['zylTKNVx'] },
  })
    .input(ByGroup.extend(changesOf(fields).shape))
    .output(GroupDetailOutput)
    .mutation(({ ctx, input: { id, group_id: groupId, ...changes } }) =>
      ctx.services.groups.update(ctx.actor, id, groupId, changes),
    ),

  /** The data of a group's screen. Has no REST path, so that it can change with the screen. */
  screen: viewerProcedure
    .input(ByGroup)
    .output(GroupScreenOutput)
    .query(({ ctx, input }) => ctx.services.screens.group(ctx.actor, input.id, input.group_id)),

  /** The groups of all clients that the caller sees, by name. Has no REST path: for the search of the console. */
  search: viewerProcedure
    .input(z.object({ search: Search, limit: z.int().min(1).max(50).default(10) }))
    .output(z.array(z.object({ id: z.int(), client: z.int(), name: z.string(), client_name: z.string() })))
    .query(({ ctx, input }) => ctx.services.groups.search(ctx.actor, input.search, input.limit)),

  /** Adds and removes single members, so that it does not overwrite changes of others. For screens, which may be open for long. */
  edit: peopleProcedure
    .input(
      ByGroup.extend({
        name: fields.name.optional(),
        apps: AppIds.optional(),
        ...given,
        added_members: Members.default([]),
        removed_members: Members.default([]),
        expected: GroupOutput.pick({ name: true, apps: true }).partial().optional(),
      }),
    )
    .output(GroupDetailOutput)
    .mutation(({ ctx, input: { id, group_id: groupId, ...changes } }) =>
      ctx.services.groups.update(ctx.actor, id, groupId, changes),
    ),

  remove: route(peopleProcedure, 'DELETE', '/jb/clients/{id}/groups/{group_id}/', {
    summary: 'Remove a group',
    description: 'Its members lose the apps that only this group gives them.',
  })
    .input(ByGroup)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.groups.remove(ctx.actor, input.id, input.group_id)),
});
