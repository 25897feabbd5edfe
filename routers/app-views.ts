import { z } from 'zod';
import { shielded } from '../src/core/free-form.ts';
import type { AppRow } from '../src/services/apps/app-rows.ts';
import type { AppWithUsage } from '../src/services/apps/apps.ts';
import { AnyObject } from './schemas.ts';

/** As a client's app list shows an app. */
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
  /** Actions and users of the last 30 days, the 30 before, and the 30 before those; `{}` for mere members. */
  usage: z.object({ '30': Window, '60': Window, '90': Window }).partial(),
  /** `version`, `fetched_at`, `loaded_at`, `sha256`, `stacks`; `{}` until a package was loaded. */
  package_info: AnyObject,
  in_maintenance: z.boolean(),
  maintenance_message: z.string(),
});

export const appSummaryView = (app: AppRow): z.input<typeof AppSummaryView> => ({
  id: app.id,
  slug: app.slug,
  label: app.label,
  description: app.description,
  help_html: app.help_html,
  footer_html: app.footer_html,
  show_help: app.show_help,
  show_footer: app.show_footer,
});

export const appView = (app: AppWithUsage): z.input<typeof AppView> => ({
  ...appSummaryView(app),
  usage: app.usage,
  package_info: shielded(app.package_info),
  in_maintenance: app.in_maintenance,
  maintenance_message: app.maintenance_message,
});
