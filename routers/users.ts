import { Readable } from 'node:stream';
import { z } from 'zod';
import { csvLine, csvRecords } from '../src/lib/csv-line.ts';
import { Download } from '../src/lib/files.ts';
import { freeForm } from '../src/lib/json-value.ts';
import type { UserRow } from '../src/services/accounts/user-rows.ts';
import type { ChangedField } from '../src/services/users/user-update.ts';
import { appIdentity } from './apps.ts';
import type { Context } from './context.ts';
import { BulkInput, BulkResultOutput, bulkResultOutput, toBulkRequest } from './operations.ts';
import { routesOf } from './procedure-meta.ts';
import { Extra, NewEmail, OptionalInput, PersonName } from './schemas/fields.ts';
import { AppIds, ByEmail, EmailKey, Id } from './schemas/keys.ts';
import { downloadOf, listOf, streamFormat, toPageRequest } from './schemas/lists.ts';
import { Output } from './schemas/outputs.ts';
import {
  appUserConditions,
  PersonOutput,
  UserOutput,
  UserPermissionsOutput,
  userConditions,
  userEncoder,
  userFilter,
  userOutput,
  userSort,
} from './schemas/users.ts';
import {
  accessProcedure,
  allowedTo,
  memberProcedure,
  peopleProcedure,
  router,
  viewerProcedure,
} from './trpc.ts';
import { dataRightsProcedures } from './users-data-rights.ts';
import { factorProcedures } from './users-factors.ts';
import { identityProcedures } from './users-identities.ts';
import { personProcedures } from './users-person.ts';
import { viewAsProcedures } from './users-view-as.ts';

const route = routesOf('Users');

const conditions = { ...appUserConditions, client: Id.optional(), ...userConditions };

/** The fields of a user that `update` changes. */
const UserChanges = z
  .object({
    first_name: PersonName,
    last_name: PersonName,
    extra: Extra,
    is_active: z.boolean(),
    is_demo_user: z.boolean(),
    apps: AppIds,
  } satisfies Record<ChangedField, z.ZodType>)
  .partial();

const CHANGED = UserChanges.keyof().options;

/** The values of these fields that a caller has read, by the rules of outputs. */
const ExpectedUser = UserOutput.pick(
  // `fromEntries` loses the names.
  Object.fromEntries(CHANGED.map((name) => [name, true])) as Record<(typeof CHANGED)[number], true>,
)
  .extend({ extra: Extra })
  .partial();

const HomePreviewOutput = Output('HomePreview', {
  /** False: the person cannot log in, and cannot see anything. */
  is_active: z.boolean(),
  apps: z.array(
    Output('HomeApp', {
      ...appIdentity,
      description: z.string(),
      in_maintenance: z.boolean(),
      maintenance_message: z.string(),
    }),
  ),
});

const COLUMNS = UserOutput.keyof().options;
type Column = (typeof COLUMNS)[number];
type TableUser = Partial<z.output<typeof UserOutput>>;

/** Names of fields of users, separated by commas; by default all. */
const TableColumns = z
  .string()
  .default(COLUMNS.join(','))
  .transform((names) => names.split(','))
  .pipe(z.array(UserOutput.keyof()));

async function* tablePages(
  pages: AsyncIterable<UserRow[]>,
  columns: readonly Column[],
  ctx: Context,
): AsyncGenerator<TableUser[]> {
  for await (const rows of pages)
    yield rows.map((row) => {
      const user: TableUser = { ...userOutput(ctx)(row), extra: freeForm(row.extra) };
      return Object.fromEntries(columns.map((column) => [column, user[column]]));
    });
}

async function* csvOf(pages: AsyncIterable<TableUser[]>, columns: readonly Column[]) {
  yield csvLine(columns);
  for await (const users of pages) yield csvRecords(users, columns);
}

export const usersRouter = router({
  list: route(viewerProcedure, 'GET', '/jb/users/', {
    summary: 'List users',
    description:
      'The users that you can see, in order of creation, or of `sort` if `limit` or a page is requested.',
    problems: ['not-found'],
    legacy: true,
  })
    .input(OptionalInput({ ...appUserConditions, client: Id.optional(), ...userFilter }))
    .output(listOf(UserOutput))
    .query(async ({ ctx, input }) => {
      const format = streamFormat(ctx, input);
      if (format) return ctx.services.users.stream(ctx.actor, input, userEncoder(UserOutput, format, ctx));
      const users = await ctx.services.users.list(ctx.actor, input, toPageRequest(ctx, input));
      return users.map(userOutput(ctx));
    }),

  /** A page of the console's list of people. It has no REST path, so that its columns can change with the screen. */
  people: viewerProcedure
    .input(
      OptionalInput({
        ...conditions,
        sort: userSort,
        cursor: EmailKey.optional(),
        limit: z.int().min(1).max(200).default(100),
      }),
    )
    .output(z.array(PersonOutput))
    .query(async ({ ctx, input }) => {
      const people = await ctx.services.users.people(ctx.actor, input, { limit: input.limit });
      return people.map(userOutput(ctx));
    }),

  count: route(viewerProcedure, 'GET', '/jb/users/count/', {
    summary: 'Count users',
    description: 'The exact number of users that match the filter.',
    problems: ['not-found'],
  })
    .input(OptionalInput(conditions))
    .output(z.object({ count: z.int() }))
    .query(async ({ ctx, input }) => ({ count: await ctx.services.users.count(ctx.actor, input) })),

  table: route(viewerProcedure, 'GET', '/jb/users/table/', {
    summary: 'Download users as CSV',
    description:
      'All users that match the filter, in the order of `sort` at the time of the request, with the given `columns`: names of fields of a user, separated by commas. tRPC streams pages of objects with these fields.',
    problems: ['not-found'],
    download: 'text/csv',
  })
    .input(OptionalInput({ ...conditions, sort: userSort, columns: TableColumns }))
    .output(downloadOf<TableUser[]>())
    .query(async ({ ctx, input: { columns, ...filter } }) => {
      const users = await ctx.services.users.openTable(ctx.actor, filter);
      const pages = tablePages(users, columns, ctx);
      if (!ctx.isDownload) return pages;
      return new Download('users.csv', Readable.from(csvOf(pages, columns), { objectMode: false }));
    }),

  get: route(memberProcedure, 'GET', '/jb/users/{email}/', {
    summary: 'Get a user',
    description: 'All users can get themselves.',
    legacy: true,
  })
    .input(ByEmail)
    .output(UserOutput)
    .query(({ ctx, input }) => ctx.services.users.get(ctx.actor, input.email).then(userOutput(ctx))),

  permissions: route(memberProcedure, 'GET', '/jb/users/{email}/permissions/', {
    summary: 'Get what you may do with a user',
    description: 'For screens that offer only what you may do.',
  })
    .input(ByEmail)
    .output(UserPermissionsOutput)
    .query(({ ctx, input }) => ctx.services.roles.readPermissions(ctx.actor, input.email)),

  preview: route(peopleProcedure, 'GET', '/jb/users/{email}/home/', {
    summary: 'Show what a user sees on the home page',
    hasSecrets: true,
    description:
      'The apps of the clients that you can see, as the user finds them after login. The audit trail records the look.',
  })
    .input(ByEmail)
    .output(HomePreviewOutput)
    .query(async ({ ctx, input }) => {
      const { is_active, apps } = await ctx.services.accessExplanation.preview(ctx.actor, input.email);
      return { is_active, apps: apps.map((app) => ({ ...app, client: app.client_id })) };
    }),

  create: route(peopleProcedure, 'POST', '/jb/users/', {
    summary: 'Create a user',
    description:
      'The user joins the clients of the `apps`, and `client`: by default the only client that you administer. The new user of a superuser may belong to no client. With `send_email`, a link to set a password is mailed.',
    problems: ['user-exists'],
    example: { email: 'nia@acme.test', first_name: 'Nia', last_name: 'New', apps: ['zylTKNVx'] },
    legacy: true,
  })
    .input(
      z.object({
        email: NewEmail,
        first_name: PersonName.default(''),
        last_name: PersonName.default(''),
        extra: Extra.default({}),
        is_demo_user: z.boolean().default(false),
        apps: AppIds.default([]),
        client: Id.optional(),
        send_email: z.boolean().default(false),
      }),
    )
    .output(UserOutput)
    .mutation(({ ctx, input }) => ctx.services.userCreation.create(ctx.actor, input).then(userOutput(ctx))),

  update: route(accessProcedure, 'PATCH', '/jb/users/{email}/', {
    summary: 'Update a user',
    description:
      'Omitted fields stay unchanged. `apps` replaces the apps of the user; apps that you do not manage stay as they are. Client admins cannot be updated here. `extra` and `is_demo_user` are set in the memberships of your clients; a superuser sets them in all memberships and in the account. For users who also belong to clients that you do not administer, you see and change `is_active`, `extra` and `is_demo_user` of the memberships in your clients. A suspended member keeps the apps of the client: `apps` shows them again after a reactivation.',
    problems: ['client-admin-locked', 'shared-user', 'self-modification', 'last-superuser'],
    resourceQuery: 'users.get',
    example: { first_name: 'Augusta', apps: ['zylTKNVx'] },
    legacy: true,
  })
    .input(
      UserChanges.extend({
        email: EmailKey,
        expected: ExpectedUser.optional(),
      }),
    )
    .output(UserOutput)
    .mutation(({ ctx, input: { email, ...changes } }) =>
      ctx.services.userUpdates.update(ctx.actor, email, changes).then(userOutput(ctx)),
    ),

  changeEmail: route(peopleProcedure, 'POST', '/jb/users/{email}/email/', {
    summary: 'Change the email address of a user',
    description:
      'By a superuser, it takes effect at once; taken addresses count as in `POST /jb/users/`. By a client admin, it takes effect when the link that is mailed to the new address is confirmed. The old address then gets a mail that says so. For your own address, request a change.',
    problems: [
      ...(['client-admin-locked', 'shared-user', 'self-modification'] as const),
      ...(['reauthentication-required', 'user-exists', 'throttled', 'account-inactive'] as const),
    ],
    example: { new_email: 'ada.king@acme.test' },
  })
    .input(z.object({ email: EmailKey, new_email: NewEmail }))
    .output(UserOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.emailChanges.changeForUser(ctx.actor, input.email, input.new_email).then(userOutput(ctx)),
    ),

  deactivate: route(peopleProcedure, 'DELETE', '/jb/users/{email}/', {
    summary: 'Deactivate a user',
    description:
      'Ends all sessions and tokens of the user immediately. Of a user whose account several clients share, suspends the membership in yours. They keep what they have, and do not open anything by it until they are reactivated. Repeating it changes nothing.',
    problems: ['self-modification', 'last-superuser'],
    resourceQuery: 'users.get',
    legacy: true,
  })
    .input(ByEmail)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.userUpdates.deactivate(ctx.actor, input.email)),

  bulkUpdate: route(
    allowedTo('client', 'manage-people', 'manage-grants', 'manage-credentials'),
    'POST',
    '/jb/users/bulk/',
    {
      summary: 'Change many users',
      description:
        'Up to 1,000 addresses, or the next 1,000 users of a filter: to continue, send `next_cursor` as `cursor`, and `operation`. `send-password-link` mails a link to set a password, or the invitation of an address without an account. `deactivate` suspends users, who keep what they have, until `reactivate`; `offboard` ends all that they have. These three follow the rules of `DELETE /jb/users/{email}/`, and with `client`, change only the membership there. Other actions follow the rules of `PATCH /jb/users/{email}/`. Each user is changed in a separate transaction; `results` has one entry for each. With an `Idempotency-Key`, a repeat continues an interrupted request as the same operation, and sends no mail twice; without one, it is another operation, and sends the mails again. If the response was lost, the audit trail names the `operation` of each change, which can be undone.',
      problems: ['undo-expired', 'not-found'],
      handlesIdempotency: true,
      example: { emails: ['ada@acme.test'], action: 'grant-apps', apps: ['zylTKNVx'] },
    },
  )
    .input(BulkInput)
    .output(BulkResultOutput)
    .mutation(async ({ ctx, input }) => {
      const request = toBulkRequest(input);
      ctx.timeLimit.lift();
      return bulkResultOutput(
        await ctx.services.bulkUpdates.update(ctx.actor, request, ctx.idempotencyKey()),
      );
    }),

  ...personProcedures,
  ...factorProcedures,
  ...identityProcedures,
  ...viewAsProcedures,
  ...dataRightsProcedures,
});
