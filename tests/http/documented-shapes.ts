import { z } from 'zod';

/**
 * The resources of the interface document as JSON. Duplicates the output schemas on purpose, to check them against the
 * documented interface.
 */
const Instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const FreeForm = z.record(z.string(), z.unknown());

const Site = z.strictObject({ id: z.int(), domain: z.string(), name: z.string() });

const TYPES = { string: z.string(), number: z.int(), boolean: z.boolean() };

/** The types of fields that can be set to these values. */
const typesOf = (changes: Record<string, string | number | boolean>) =>
  Object.fromEntries(
    Object.entries(changes).map(([field, value]) => [field, TYPES[typeof value as keyof typeof TYPES]]),
  );

/** Every field of a client that can be changed, with a value to set. */
export const CLIENT_CHANGES = {
  name: 'Acme Insight',
  default_from_email: 'no-reply@acme.test',
  invitation_subject: 'Come in',
  invitation_body: 'We look forward to you.',
  login_title: 'Acme',
  login_subtitle: 'Good morning',
  support_email: 'support@acme.test',
  home_location: '/apps/',
  subtitle_404: 'Lost?',
  message_404: '<p>Not here.</p>',
  subtitle_500: 'Oh',
  message_500: '<p>Our fault.</p>',
  password_min_length: 10,
  password_allow_common: false,
  password_require_numeric: true,
  password_require_upper: true,
  password_require_lower: true,
  password_require_special: false,
  password_expiration_days: 90,
};

const Client = z.strictObject({
  id: z.int(),
  site: z.strictObject({ domain: z.string(), formatted_name: z.string() }),
  ...typesOf(CLIENT_CHANGES),
});

const User = z.strictObject({
  email: z.string(),
  handle: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  extra: FreeForm,
  is_active: z.boolean(),
  is_demo_user: z.boolean(),
  profile_color: z.string().regex(/^[0-9a-f]{6}$/),
  profile_avatar: z.url(),
  apps: z.array(z.string()),
  clientadmin_of: z.array(z.int()),
  last_login: Instant.nullable(),
  date_joined: Instant,
  last_activated: Instant.nullable(),
  last_deactivated: Instant.nullable(),
});
/** A user who is read or changed alone. */
const UserDetail = User;
const ClientUser = User.omit({ clientadmin_of: true }).extend({ last_password_set: Instant });

const ClientInvitation = z.strictObject({
  id: z.int(),
  user: User,
  email: z.string(),
  key: z.string(),
  initial_apps: z.array(z.string()),
  extra: FreeForm,
  date_invited: Instant,
  invitation_email_count: z.int(),
});
const Invitation = ClientInvitation.extend({ is_demo_user: z.enum(['true', 'false']) });

/** The same of an app, as members see it, too. */
export const APP_CHANGES = {
  label: 'Sales 2',
  description: 'Better.',
  help_html: '<p>Help</p>',
  footer_html: '<p>Foot</p>',
  show_help: true,
  show_footer: true,
};
export const MAINTENANCE = { in_maintenance: true, maintenance_message: 'Back at noon.' };

const ClientApp = z.strictObject({ id: z.string(), slug: z.string(), ...typesOf(APP_CHANGES) });
const Window = z.strictObject({ actions: z.int(), users: z.int() });
const App = ClientApp.extend({
  usage: z.strictObject({ '30': Window, '60': Window, '90': Window }),
  package_info: FreeForm,
  ...typesOf(MAINTENANCE),
});

const UsageEntry = z.strictObject({
  action_description: z.string(),
  email: z.string(),
  full_name: z.string(),
  timestamp: Instant,
  action: z.string(),
  extra: z.looseObject({
    app: z.string(),
    stack: z.string(),
    app_id: z.string(),
    request: z.looseObject({ path: z.string(), session: z.string(), META: FreeForm }),
  }),
});

const SavedFilter = z.strictObject({
  user: z.string(),
  stack: z.string(),
  hash: z.string(),
  name: z.string(),
  created: Instant,
  modified: Instant,
});

export const SHAPES = {
  Token: z.strictObject({ token: z.string().regex(/^[0-9a-f]{40}$/) }),
  Site,
  Client,
  User,
  UserDetail,
  ClientUser,
  ClientInvitation,
  Invitation,
  ClientApp,
  App,
  UsageEntry,
  SavedFilter,
  Message: z.strictObject({ message: z.string().regex(/^Loaded [a-z0-9_-]+ version \S+$/) }),
  Environment: z.strictObject({ environment: z.string(), upload_bucket_name: z.string() }),
};

export type ShapeName = keyof typeof SHAPES;

export const fieldsOf = (name: ShapeName): string[] => Object.keys(SHAPES[name].shape).sort();
