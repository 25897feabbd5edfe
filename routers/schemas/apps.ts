import { z } from 'zod';
import { opaque } from '../../src/lib/json-value.ts';
import { type Actor, canOperate } from '../../src/services/access/actor.ts';
import type { AppStack, AppStatus, AppVersion } from '../../src/services/apps/app-details.ts';
import type { AppEncoder } from '../../src/services/apps/app-stream.ts';
import type { AppWithUsage } from '../../src/services/apps/apps.ts';
import { AnyObject, Instant, Text } from './fields.ts';
import { createRowEncoder, type ListFormat } from './row-encoder.ts';

/** An app in the list of a client. */
export const AppSummaryView = z.object({
  id: z.string(),
  slug: z.string(),
  label: z.string(),
  description: z.string(),
  help_html: z.string(),
  footer_html: z.string(),
  show_help: z.boolean(),
  show_footer: z.boolean(),
});

const Window = z.object({ actions: z.int(), users: z.int() });

export const AppView = AppSummaryView.extend({
  /** Actions and users of the last 30, 60 and 90 days; `{}` for members. */
  usage: z.object({ '30': Window, '60': Window, '90': Window }).partial(),
  /** `version`, `fetched_at`, `loaded_at`, `sha256`, `stacks`; `{}` before the first load. */
  package_info: AnyObject,
  in_maintenance: z.boolean(),
  maintenance_message: z.string(),
});

type AppSummaryView = z.input<typeof AppSummaryView>;

export const appSummaryView = (app: AppSummaryView): AppSummaryView => ({
  id: app.id,
  slug: app.slug,
  label: app.label,
  description: app.description,
  help_html: app.help_html,
  footer_html: app.footer_html,
  show_help: app.show_help,
  show_footer: app.show_footer,
});

type AppView = z.input<typeof AppView>;

export const appView = (app: AppWithUsage): AppView => ({
  ...appSummaryView(app),
  usage: app.usage,
  package_info: opaque(app.package_info),
  in_maintenance: app.in_maintenance,
  maintenance_message: app.maintenance_message,
});

/** As `appView`. PostgreSQL writes JSON with spaces. */
export const appEncoder = (format: ListFormat): AppEncoder =>
  createRowEncoder(AppView, format, { usage: (json) => JSON.stringify(JSON.parse(json ?? '{}')) });

export const AppStatusView = z.object({
  id: z.string(),
  slug: z.string(),
  label: z.string(),
  /** Null before the first load. */
  version: z.string().nullable(),
  in_maintenance: z.boolean(),
  /** Shown instead of the app; empty if the app is not in maintenance. */
  maintenance_message: z.string(),
});

export const appStatusView = (app: AppStatus): z.input<typeof AppStatusView> => ({
  id: app.id,
  slug: app.slug,
  label: app.label,
  version: app.version,
  in_maintenance: app.in_maintenance,
  maintenance_message: app.maintenance_message,
});

export const AppStackView = z.object({ id: z.string(), slug: z.string(), label: z.string() });

export const appStackView = (stack: AppStack): z.input<typeof AppStackView> => ({
  id: stack.id,
  slug: stack.slug,
  label: stack.label,
});

export const AppVersionView = z.object({
  id: z.int(),
  version: z.string(),
  sha256: z.string(),
  size_bytes: z.int(),
  fetched_at: Instant,
  /** Empty for client admins, who do not see fetches in the audit trail either. */
  fetched_by: z.string(),
  /** Newest first. */
  loads: z.array(z.object({ loaded_at: Instant, loaded_by: z.string(), is_rollback: z.boolean() })),
  /** Whether the app runs this version. */
  is_current: z.boolean(),
  /** Whether this version was fetched last, so that the next load applies it. */
  is_staged: z.boolean(),
});

export const appVersionView = (version: AppVersion, actor: Actor): z.input<typeof AppVersionView> => ({
  id: version.id,
  version: version.version,
  sha256: version.sha256,
  size_bytes: version.size_bytes,
  fetched_at: version.fetched_at,
  fetched_by: canOperate(actor) ? version.fetched_by : '',
  loads: version.loads.map((load) => ({
    loaded_at: load.loaded_at,
    loaded_by: load.loaded_by,
    is_rollback: load.is_rollback,
  })),
  is_current: version.is_current,
  is_staged: version.is_staged,
});

/** Null and an empty string mean no version: the procedure chooses one. */
export const AppVersionInput = z.object({
  app_slug: Text(255),
  app_version: Text(128)
    .nullish()
    .transform((version) => version || undefined),
});
export const MessageView = z.object({ message: z.string() });
