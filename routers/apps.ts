import { z } from 'zod';
import { maintenanceNotice } from '../src/lib/html.ts';
import { proofOf } from '../src/services/access/actor.ts';
import { can } from '../src/services/access/permissions.ts';
import { isLaunchUrl } from '../src/services/packages/package-manifest.ts';
import { AppVersionInput, MessageOutput } from './app-packages.ts';
import { appRemovalProcedures } from './apps-removal.ts';
import { routesOf } from './procedure-meta.ts';
import { AccessExplanationOutput } from './schemas/access.ts';
import { Expiry, Html, Name, OptionalInput, Text, WindowDays } from './schemas/fields.ts';
import { AppKey, ByApp, EmailKey, Id, LongIdKey, Slug } from './schemas/keys.ts';
import {
  limitedPagingFields,
  listOf,
  pagingFields,
  Search,
  streamFormat,
  toPageRequest,
} from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { createRowEncoder } from './schemas/row-encoder.ts';
import { personIdentity } from './schemas/users.ts';
import { TicketOutput } from './tickets.ts';
import { appProcedure, memberProcedure, router, staffProcedure, viewerProcedure } from './trpc.ts';

/** The fields of an app in reports and in lists of other nouns. */
export const appIdentity = { id: z.string(), client: z.int(), slug: z.string(), label: z.string() };

/** `appIdentity` where the client is known; also the fields of a stack. */
export const appName = { id: z.string(), slug: z.string(), label: z.string() };

/** An app in the list of a client. */
export const AppSummaryOutput = Output('ClientApp', {
  ...appName,
  description: z.string(),
  help_html: z.string(),
  footer_html: z.string(),
  show_help: z.boolean(),
  show_footer: z.boolean(),
});

const UsageCounts = z.object({ actions: z.int(), users: z.int() });

const AppOutput = Output('App', {
  ...AppSummaryOutput.shape,
  /** Actions and users of the last 30, 60 and 90 days; `{}` for members. */
  usage: z.object({ '30': UsageCounts, '60': UsageCounts, '90': UsageCounts }).partial(),
  /** `version`, `fetched_at`, `loaded_at`, `sha256`, `stacks`; `{}` before the first load. */
  package_info: AnyObject,
  in_maintenance: z.boolean(),
  maintenance_message: z.string(),
});

/** Filters of lists of apps. */
export const appFilter = {
  /** Each word must match the label or the slug. */
  search: Search.optional(),
  client: Id.optional(),
  in_maintenance: z.boolean().optional(),
  /** Whether the app was not used in the last `unused_days`. Only apps whose usage the caller may see. */
  is_unused: z.boolean().optional(),
  /** By default `UNUSED_DAYS`. Without `is_unused`, unused apps are selected. */
  unused_days: WindowDays.optional(),
  /** Whether no one has used or opened the app. Only apps whose usage the caller may see. With `is_unused=false`: new apps without use. */
  never_used: z.boolean().optional(),
};

const AppStatusOutput = Output('AppStatus', {
  ...appName,
  /** Null before the first load. */
  version: z.string().nullable(),
  in_maintenance: z.boolean(),
  /** Shown instead of the app; empty if the app is not in maintenance. */
  maintenance_message: z.string(),
  /** When planned or running maintenance begins; null if it has no planned begin, or there is none. */
  maintenance_from: Instant.nullable(),
  /** When planned or running maintenance ends; null if that is open, or there is none. */
  maintenance_until: Instant.nullable(),
  /** Where the app is opened; empty if its package names no URL. */
  launch_url: z.string(),
  /** Whether its package declares that others may look at it as a person. */
  view_as: z.boolean(),
  /** Whether members of the client who do not have the app may ask for it. */
  is_requestable: z.boolean(),
});

/** The title and the sanitized message. */
const MaintenancePreviewOutput = Output('MaintenancePreview', { title: z.string(), html: z.string() });

/** What the caller may do with an app. */
const AppPermissionsOutput = Output('AppPermissions', {
  /** Change its texts, maintenance and access views. */
  can_update: z.boolean(),
  /** The client of the app, in which these rights hold. */
  client: z.int(),
});

const AppStackOutput = Output('AppStack', appName);

const AppVersionOutput = Output('AppVersion', {
  id: z.int(),
  version: z.string(),
  sha256: z.string().meta({ examples: ['777ddd7901db15c70c26d8d361280bade0d51ca6391b268d61aced47c8b4759e'] }),
  size_bytes: z.int(),
  fetched_at: Instant,
  /** Empty for client admins, who do not see fetches in the audit trail either. */
  fetched_by: z.string().meta({ examples: ['staff@steward.test'] }),
  /** Newest first. */
  loads: z.array(
    z.object({
      loaded_at: Instant,
      loaded_by: z.string().meta({ examples: ['staff@steward.test'] }),
      is_rollback: z.boolean(),
    }),
  ),
  /** Whether the app runs this version. */
  is_current: z.boolean(),
  /** Whether this version was fetched last, so that the next load applies it. */
  is_staged: z.boolean(),
});

/** Two email addresses, separated by a comma. */
const TwoPeople = Text(2048)
  .transform((emails) => emails.split(','))
  .pipe(
    z
      .array(EmailKey)
      .length(2, 'Must be two email addresses, separated by a comma.')
      .refine(([one, other]) => one !== other, 'Must be two people.'),
  );

const ComparedPersonOutput = Output('ComparedPerson', {
  ...personIdentity,
  is_active: z.boolean(),
  /** In the client of the app, as in tickets. Empty for a person who does not belong to it. */
  roles: z.array(z.string()),
  /** Names of all groups of the client that the person belongs to. */
  groups: z.array(z.string()),
  ...AccessExplanationOutput.shape,
});

const packageRoute = routesOf('App fetch and load');
const route = routesOf('Apps');

const ExpectedApp = AppOutput.omit({ id: true, slug: true, usage: true, package_info: true }).partial();

/** Null, or an empty string, means none. */
const StackSlug = Text(255)
  .nullish()
  .transform((slug) => slug || null);

const LaunchUrl = Text(2048).refine(
  (text) => isLaunchUrl(URL.parse(text)),
  'Must be an http(s) URL without a password and without #.',
);

export const appsRouter = router({
  create: packageRoute(staffProcedure, 'POST', '/jb/apps/', {
    summary: 'Create an app that has only an address',
    description:
      'For an app without a package. `launch_url` receives one-time codes that identify users. A package with the same `slug` can be loaded later, and then sets the texts and the address.',
    example: { client: 1, slug: 'wiki', label: 'Wiki', launch_url: 'https://wiki.example.com/' },
  })
    .input(
      z.object({
        client: Id,
        slug: Slug,
        label: Name(255),
        description: Text(10_000).default(''),
        launch_url: LaunchUrl,
      }),
    )
    .output(AppOutput)
    .mutation(async ({ ctx, input: { launch_url: launchUrl, ...input } }) => {
      const id = await ctx.services.appPackages.createLinked(ctx.actor, { ...input, launchUrl });
      return ctx.services.apps.get(ctx.actor, id);
    }),

  list: route(memberProcedure, 'GET', '/jb/apps/', {
    summary: 'List apps',
    description:
      'The apps that you can open or manage. For apps that you manage, `usage` contains the actions and distinct users of the last 30, 60 and 90 days.',
    legacy: true,
  })
    .input(OptionalInput({ ...appFilter, ...pagingFields(AppKey) }))
    .output(listOf(AppOutput))
    .query(async ({ ctx, input }) => {
      const { apps } = ctx.services;
      const format = streamFormat(ctx, input);
      if (format) return apps.stream(ctx.actor, input, createRowEncoder(AppOutput, format));
      return apps.list(ctx.actor, input, toPageRequest(ctx, input));
    }),

  get: route(memberProcedure, 'GET', '/jb/apps/{app_id}/', {
    summary: 'Get an app',
    volatileFields: ['usage'],
    legacy: true,
  })
    .input(ByApp)
    .output(AppOutput)
    .query(({ ctx, input }) => ctx.services.apps.get(ctx.actor, input.app_id)),

  status: route(memberProcedure, 'GET', '/jb/apps/{app_id}/status/', {
    summary: 'Get the maintenance status of an app',
    description: 'For platforms, before they show the app to a user.',
  })
    .input(ByApp)
    .output(AppStatusOutput)
    .query(({ ctx, input }) => ctx.services.apps.getStatus(ctx.actor, input.app_id)),

  permissions: route(memberProcedure, 'GET', '/jb/apps/{app_id}/permissions/', {
    summary: 'Get what you may do with an app',
    description: 'For screens that offer only what you may do.',
  })
    .input(ByApp)
    .output(AppPermissionsOutput)
    .query(({ ctx, input }) => ctx.services.apps.getPermissions(ctx.actor, input.app_id)),

  stacks: route(memberProcedure, 'GET', '/jb/apps/{app_id}/stacks/', {
    summary: 'List the stacks of an app',
    description:
      'Ordered by slug. Saved filters refer to a stack by its `id`. Stacks that the current package no longer contains are left out.',
  })
    .input(z.object({ app_id: AppKey, ...pagingFields(Text(255)) }))
    .output(z.array(AppStackOutput))
    .query(({ ctx, input }) =>
      ctx.services.apps.listStacks(ctx.actor, input.app_id, toPageRequest(ctx, input)),
    ),

  versions: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/versions/', {
    summary: 'List the versions of an app',
    description: 'Most recently fetched first. `cursor` is the id of the last version of the previous page.',
  })
    .input(z.object({ app_id: AppKey, ...limitedPagingFields(LongIdKey) }))
    .output(z.array(AppVersionOutput))
    .query(async ({ ctx, input }) => {
      const page = toPageRequest(ctx, input);
      const versions = await ctx.services.apps.listVersions(ctx.actor, input.app_id, page);
      return can(ctx.actor, 'operate')
        ? versions
        : versions.map((version) => ({ ...version, fetched_by: '' }));
    }),

  compare: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/compare/', {
    summary: 'Compare two people in an app',
    description:
      'What each of the two `people` has in the client of the app: roles, groups, data permissions, and whether and why they may open it. In the order of the addresses.',
    example: { people: 'ada@acme.test,grace@acme.test' },
  })
    .input(z.object({ app_id: AppKey, people: TwoPeople }))
    .output(Output('AppComparison', { app: z.object(appIdentity), people: z.array(ComparedPersonOutput) }))
    .query(({ ctx, input }) => ctx.services.accessExplanation.compare(ctx.actor, input.app_id, input.people)),

  openTicket: route(memberProcedure, 'POST', '/jb/apps/{app_id}/ticket/', {
    summary: 'Get a ticket for an app',
    hasSecrets: true,
    description:
      'A signed statement of who you are and what you may see, for one app and a few minutes. `stack` is the slug of the stack to open.',
    problems: ['client-closed', 'attributes-invalid', 'app-in-maintenance', 'second-factor-required'],
  })
    .input(z.object({ app_id: AppKey, stack: StackSlug }))
    .output(TicketOutput)
    .mutation(({ ctx: { actor, services }, input: { app_id: appId, stack: stackSlug } }) =>
      services.tickets.issueTicket({
        kind: 'user',
        userId: actor.id,
        scope: actor.scope,
        proof: proofOf(actor),
        appId,
        stackSlug,
      }),
    ),

  launch: route(memberProcedure, 'POST', '/app/launch/{app_slug}/', {
    summary: 'Get the URL that opens an app',
    hasSecrets: true,
    description:
      'With a one-time code, which the app exchanges for a ticket within a minute, and `state`, which the app gets back. `stack` is the slug of the stack to open.',
    problems: ['client-closed', 'attributes-invalid', 'app-in-maintenance', 'second-factor-required'],
  })
    .input(z.object({ app_slug: Text(255), stack: StackSlug, state: Text(512).optional() }))
    .output(z.object({ url: z.string() }))
    .mutation(async ({ ctx, input: { app_slug: appSlug, stack: stackSlug, state } }) => ({
      url: await ctx.services.launches.launch(ctx.actor, { appSlug, stackSlug, state }),
    })),

  previewMaintenance: route(appProcedure, 'POST', '/jb/apps/{app_id}/maintenance-preview/', {
    summary: 'Preview the page of an app in maintenance',
    hasSecrets: true,
    description:
      'The title and the sanitized message that people would see instead of the app. Nothing is saved.',
  })
    .input(z.object({ app_id: AppKey, maintenance_message: Html, maintenance_until: Expiry.optional() }))
    .output(MaintenancePreviewOutput)
    .mutation(async ({ ctx, input: { app_id: id, maintenance_message: message, maintenance_until } }) => {
      const { label } = await ctx.services.apps.get(ctx.actor, id);
      const { title, body } = await maintenanceNotice(label, message, maintenance_until ?? null);
      return { title, html: body.toString() };
    }),

  rollback: packageRoute(staffProcedure, 'POST', '/app/rollback/{app_slug}/', {
    summary: 'Roll an app back to an earlier version',
    description: 'To the given version, or by default to the one that was loaded before.',
    problems: ['invalid-package'],
    example: { app_version: '1.0.0' },
  })
    .input(AppVersionInput)
    .output(MessageOutput)
    .mutation(async ({ ctx, input }) => {
      const { app_slug: appSlug, app_version: appVersion } = input;
      const { slug, version } = await ctx.services.appPackages.rollback(ctx.actor, appSlug, appVersion);
      return { message: `Rolled back ${slug} to version ${version}` };
    }),

  update: route(appProcedure, 'PATCH', '/jb/apps/{app_id}/', {
    summary: 'Update an app',
    description:
      'Omitted fields stay unchanged. `in_maintenance` begins or ends maintenance at once. `maintenance_from` plans its begin, and `maintenance_until` its end; `maintenance_from: null` cancels what is planned. `is_requestable` lets members of the client ask for the app. `…/status/` returns these three.',
    resourceQuery: 'apps.get',
    example: { in_maintenance: true, maintenance_message: 'Back at noon.' },
    legacy: true,
  })
    .input(
      z.object({
        app_id: AppKey,
        label: Name(255).optional(),
        description: Text(10_000).optional(),
        help_html: Html.optional(),
        footer_html: Html.optional(),
        show_help: z.boolean().optional(),
        show_footer: z.boolean().optional(),
        in_maintenance: z.boolean().optional(),
        maintenance_message: Html.optional(),
        maintenance_from: Expiry.optional(),
        maintenance_until: Expiry.optional(),
        is_requestable: z.boolean().optional(),
        expected: ExpectedApp.optional(),
      }),
    )
    .output(AppOutput)
    .mutation(({ ctx, input: { app_id: id, expected, ...changes } }) =>
      ctx.services.apps.update(ctx.actor, id, changes, expected),
    ),

  clearCache: route(appProcedure, 'DELETE', '/jb/apps/{app_id}/clear_cache/', {
    summary: 'Announce that the cache of an app is to be cleared',
    description:
      'Records the event `app.clear-cache` in the audit trail, where platforms read it with a token of staff or administrators. The service itself caches nothing.',
  })
    .input(ByApp)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.apps.clearCache(ctx.actor, input.app_id)),

  ...appRemovalProcedures,
});
