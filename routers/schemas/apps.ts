import { z } from 'zod';
import { opaque } from '../../src/lib/json-value.ts';
import type { AppEncoder, AppWithUsage } from '../../src/services/apps/apps.ts';
import { AnyObject, Id, Instant, Output, outputOf, Text } from './fields.ts';
import { Search } from './paging.ts';
import { createRowEncoder, type ListFormat } from './row-encoder.ts';

/** An app in the list of a client. */
export const AppSummaryOutput = Output('ClientApp', {
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

export const AppOutput = Output('App', {
  ...AppSummaryOutput.shape,
  /** Actions and users of the last 30, 60 and 90 days; `{}` for members. */
  usage: z.object({ '30': Window, '60': Window, '90': Window }).partial(),
  /** `version`, `fetched_at`, `loaded_at`, `sha256`, `stacks`; `{}` before the first load. */
  package_info: AnyObject,
  in_maintenance: z.boolean(),
  maintenance_message: z.string(),
});

export const appOutput = (app: AppWithUsage) =>
  outputOf(AppOutput, { ...app, package_info: opaque(app.package_info) });

/** Whole days up to today. */
export const WindowDays = z.int().min(1).max(3650);

/** Of usage, where the caller does not choose one. */
export const DEFAULT_WINDOW_DAYS = 30;

/** Filters of lists of apps. */
export const appFilter = {
  /** Each word must match the label or the slug. */
  search: Search.optional(),
  client: Id.optional(),
  in_maintenance: z.boolean().optional(),
  /** Whether the app was not used in the last `unused_days`, as far as the caller may see its usage. */
  is_unused: z.boolean().optional(),
  /** By default 30. Without `is_unused`, it selects the unused apps. */
  unused_days: WindowDays.optional(),
};

/** As `appOutput`. */
export const appEncoder = (format: ListFormat): AppEncoder => createRowEncoder(AppOutput, format);

export const AppStatusOutput = Output('AppStatus', {
  id: z.string(),
  slug: z.string(),
  label: z.string(),
  /** Null before the first load. */
  version: z.string().nullable(),
  in_maintenance: z.boolean(),
  /** Shown instead of the app; empty if the app is not in maintenance. */
  maintenance_message: z.string(),
  /** Where the app is opened; empty if its package names no URL. */
  launch_url: z.string(),
});

/** The title and the sanitized message. */
export const MaintenancePreviewOutput = Output('MaintenancePreview', { title: z.string(), html: z.string() });

/** What the caller may do with an app. */
export const AppPermissionsOutput = Output('AppPermissions', {
  /** Change its texts, maintenance and access views. */
  can_update: z.boolean(),
});

export const AppStackOutput = Output('AppStack', { id: z.string(), slug: z.string(), label: z.string() });

export const AppVersionOutput = Output('AppVersion', {
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

/** Null and an empty string mean no version: the procedure chooses one. */
export const AppVersionInput = z.object({
  app_slug: Text(255),
  app_version: Text(128)
    .nullish()
    .transform((version) => version || undefined),
});
export const MessageOutput = z.object({ message: z.string() });
