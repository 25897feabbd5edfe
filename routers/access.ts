import { z } from 'zod';
import { appName } from './apps.ts';
import { routesOf } from './procedure-meta.ts';
import { AccessExplanationOutput } from './schemas/access.ts';
import { AppKey, ByEmail, EmailKey, IdKey, Slug } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { personIdentity, userConditions, userSort } from './schemas/users.ts';
import { grantProcedure, memberProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Clients');

const MAX_PAGE_USERS = 2_000;
const MAX_CELLS = 5_000;

const AccessUserOutput = Output('AccessUser', {
  ...personIdentity,
  is_active: z.boolean(),
  /** Whether the caller may change the apps of this user. */
  is_changeable: z.boolean(),
  /** Whether the user opens all apps as an admin of the client. */
  is_admin: z.boolean(),
  /** Ids of the client's apps that the user has, by a grant or by groups. */
  apps: z.array(z.string()),
  /** The apps among these that groups give: to revoke one, change the group. */
  apps_by_group: z.array(z.string()),
  /** By app that declares roles, the keys of the user's. */
  app_roles: z.array(Output('AccessRoles', { app: z.string(), roles: z.array(z.string()) })),
});

const AccessMatrixOutput = Output('AccessMatrix', {
  /** The columns: all apps of the client, oldest first. */
  apps: z.array(
    Output('AccessApp', { ...appName, in_maintenance: z.boolean(), is_requestable: z.boolean() }),
  ),
  users: z.array(AccessUserOutput),
  next_cursor: z.string().nullable(),
});

/** The data of the matrix screen. */
const AccessGridOutput = z.object({
  ...AccessMatrixOutput.shape,
  groups: z.array(z.object({ id: z.int(), name: z.string() })),
  users: z.array(
    z.object({
      ...AccessUserOutput.shape,
      /** Ids of the groups that the person belongs to. */
      groups: z.array(z.int()),
      /** When grants end; without the grants that have no end. */
      ends: z.array(z.object({ app: z.string(), expires_at: Instant })),
    }),
  ),
});

const MatrixInput = z.object({
  id: IdKey,
  app: Slug.optional(),
  ...userConditions,
  sort: userSort,
  cursor: EmailKey.optional(),
  limit: z.int().min(1).max(MAX_PAGE_USERS).default(100),
});

const UserGrantOutput = Output('UserGrant', {
  /** Id of the app. */
  app: z.string(),
  granted_at: Instant.nullable(),
  /** Email address of the administrator, or of the inviter. */
  granted_by: z.string().nullable(),
  /** When the grant ends; null if it does not. */
  expires_at: Instant.nullable(),
  reason: z.string(),
});

/** The data of a person's screen. */
const PersonAccessOutput = z.object({
  /** All apps of the person's clients, oldest first, also those that they cannot open. */
  apps: z.array(
    z.object({
      id: z.string(),
      label: z.string(),
      client: z.int(),
      role: z.string().nullable(),
      grant: UserGrantOutput.omit({ app: true })
        .extend({ attributes: AnyObject.nullable(), app_roles: z.array(z.string()) })
        .nullable(),
      groups: z.array(z.int()),
    }),
  ),
  /** The groups of these clients. */
  groups: z.array(
    z.object({
      id: z.int(),
      client: z.int(),
      name: z.string(),
      apps: z.array(z.string()),
      is_member: z.boolean(),
      added_at: Instant.nullable(),
      /** Email address of the administrator, or of the inviter. */
      added_by: z.string().nullable(),
    }),
  ),
});

const EffectiveAccessOutput = Output('EffectiveAccess', {
  ...personIdentity,
  /** `superuser`, `staff` or `client-admin`, which open the app without a grant; null for others. */
  role: z.string().nullable(),
  /** Names of the groups that give the app. */
  groups: z.array(z.string()),
  is_granted: z.boolean(),
  /** When access ends; null if a role or a group gives it, or the grant has no end. */
  ends_at: Instant.nullable(),
  /** Email address of the administrator; null without a grant. */
  granted_by: z.string().nullable(),
  granted_at: Instant.nullable(),
  grant_expires_at: Instant.nullable(),
  reason: z.string().nullable(),
  /** Keys of the person's roles in the app. */
  app_roles: z.array(z.string()),
});

export const accessRouter = router({
  matrix: route(viewerProcedure, 'GET', '/jb/clients/{id}/access/', {
    summary: 'Get the access matrix of a client',
    description:
      'A page of its users, with the apps of the client that each of them has. `apps` lists all apps of the client. `cursor` is `next_cursor` of the previous page.',
  })
    .input(MatrixInput)
    .output(AccessMatrixOutput)
    .query(({ ctx, input: { id: client, limit, ...filter } }) =>
      ctx.services.accessMatrix.read(ctx.actor, { ...filter, client }, limit),
    ),

  /** Has no REST path, so that it can change with the screen. */
  grid: viewerProcedure
    .input(MatrixInput)
    .output(AccessGridOutput)
    .query(({ ctx, input: { id: client, limit, ...filter } }) =>
      ctx.services.screens.grid(ctx.actor, { ...filter, client }, limit),
    ),

  listByUser: route(viewerProcedure, 'GET', '/jb/users/{email}/access/', {
    summary: 'List who granted the apps of a user, when, and until when',
    description: 'Null if neither the grant, the audit trail nor an accepted invitation says so.',
  })
    .input(ByEmail)
    .output(z.array(UserGrantOutput))
    .query(({ ctx, input }) => ctx.services.grants.listByUser(ctx.actor, input.email)),

  /** Has no REST path, so that it can change with the screen. */
  ofPerson: viewerProcedure
    .input(ByEmail)
    .output(PersonAccessOutput)
    .query(({ ctx, input }) => ctx.services.screens.accessOfPerson(ctx.actor, input.email)),

  explain: route(memberProcedure, 'GET', '/jb/users/{email}/access/{app_id}/', {
    summary: 'Explain whether a user may open an app',
    description:
      'The decision of the gate, each way in which the user has the app, and everything that keeps them out, with what would change it. Members can ask about themselves.',
  })
    .input(z.object({ email: EmailKey, app_id: AppKey }))
    .output(AccessExplanationOutput)
    .query(({ ctx, input }) => ctx.services.accessExplanation.explain(ctx.actor, input.email, input.app_id)),

  effective: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/access/', {
    summary: 'List who can open an app, and why',
    description:
      'Active people by email address, with all that gives them the app. A closed client and maintenance keep all out, and are left out of account. `cursor` is the last address of the previous page. As CSV with `Accept: text/csv`.',
  })
    .input(z.object({ app_id: AppKey, ...limitedPagingFields(EmailKey) }))
    .output(z.array(EffectiveAccessOutput))
    .query(({ ctx, input }) =>
      ctx.services.accessExplanation.list(ctx.actor, input.app_id, toPageRequest(ctx, input)),
    ),

  update: route(grantProcedure, 'PATCH', '/jb/clients/{id}/access/', {
    summary: 'Change the access matrix of a client',
    description:
      'Grants and revokes apps, all or nothing. An error names each invalid cell by its index. Cells that are as requested stay unchanged. `POST /jb/operations/{id}/undo/` undoes the change.',
    example: { cells: [{ email: 'ada@acme.test', app_id: 'zylTKNVx', granted: true }] },
  })
    .input(
      z.object({
        id: IdKey,
        cells: z
          .array(z.object({ email: EmailKey, app_id: AppKey, granted: z.boolean() }))
          .min(1)
          .max(MAX_CELLS),
      }),
    )
    .output(
      Output('AccessChange', {
        /** Undoes the request. */
        operation: z.string(),
        undo_until: Instant,
        /** The number of cells that were changed; cells that already had the requested value are not counted. */
        changed: z.int(),
      }),
    )
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.liftForBulk(input.cells.length);
      return ctx.services.accessMatrix.update(ctx.actor, input.id, input.cells);
    }),
});
