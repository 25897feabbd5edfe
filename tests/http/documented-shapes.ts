import { z } from 'zod';

/**
 * The resources of the interface document as JSON. Duplicates the output schemas on purpose, to check them against the
 * documented interface.
 */
const Instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const FreeForm = z.record(z.string(), z.unknown());

const Site = z.strictObject({ id: z.int(), domain: z.string(), name: z.string() });

const Client = z.strictObject({
  id: z.int(),
  site: z.strictObject({ domain: z.string(), formatted_name: z.string() }),
  name: z.string(),
  default_from_email: z.string(),
  invitation_subject: z.string(),
  invitation_body: z.string(),
  login_title: z.string(),
  login_subtitle: z.string(),
  support_email: z.string(),
  home_location: z.string(),
  subtitle_404: z.string(),
  message_404: z.string(),
  subtitle_500: z.string(),
  message_500: z.string(),
  password_min_length: z.int(),
  password_allow_common: z.boolean(),
  password_require_numeric: z.boolean(),
  password_require_upper: z.boolean(),
  password_require_lower: z.boolean(),
  password_require_special: z.boolean(),
  password_expiration_days: z.int(),
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

const ClientApp = z.strictObject({
  id: z.string(),
  slug: z.string(),
  label: z.string(),
  description: z.string(),
  help_html: z.string(),
  footer_html: z.string(),
  show_help: z.boolean(),
  show_footer: z.boolean(),
});
const Window = z.strictObject({ actions: z.int(), users: z.int() });
const App = ClientApp.extend({
  usage: z.strictObject({ '30': Window, '60': Window, '90': Window }),
  package_info: FreeForm,
  in_maintenance: z.boolean(),
  maintenance_message: z.string(),
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
