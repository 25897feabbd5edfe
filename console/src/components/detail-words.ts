import { capitalized } from './capitalized.ts';
import { timeText } from './time-text.ts';

/** The words of each field that the audit trail records; a test compares them with what the service records. */
const FIELDS: Record<string, string> = {
  access_admins: 'Reminders about access go to admins too',
  access_days: 'Days before access ends, for reminders',
  access_view: 'Share link',
  allowed_networks: 'Allowed networks',
  allowed_uses_cnt: 'Allowed uses',
  api_tokens: 'Tokens',
  app: 'App',
  app_grants: 'Grants of apps',
  app_id: 'App',
  app_roles: 'Roles in the app',
  apps: 'Apps',
  apps_expire_at: 'Access ends',
  attribute_claims: 'Claims for data permissions',
  attributes: 'Data permissions',
  attributes_mode: 'Wrong data permissions',
  audit_entries: 'Entries of the audit trail',
  autorotate: 'The link changes after each use',
  backchannel_logout_uri: 'Back-channel logout address',
  browser: 'Browser',
  claims: 'Claims',
  client: 'Shared with the whole client',
  client_id: 'Client id at the provider',
  client_secret: 'Client secret',
  connection: 'Connection',
  data_permissions: 'Data permissions',
  days: 'Requested days',
  default_from_email: 'Sender of mails',
  default_groups: 'Groups of new people',
  description: 'Description',
  detail: 'Details',
  email_claim: 'Claim for the address',
  embed_origins: 'Sites that may show the apps in frames',
  enrol: 'Had to set up a second factor',
  expires_at: 'Ends',
  extra: 'Extra data',
  factor_grace_days: 'Days to set up a second factor',
  factor_mails: 'Mails about the second factor',
  factor_policy: 'Second factor',
  first_name: 'First name',
  first_name_claim: 'Claim for the first name',
  flags: 'Flags',
  footer_html: 'Footer',
  granted: 'Granted',
  group: 'Group',
  group_mapping: 'Groups by groups of the provider',
  groups: 'Groups',
  groups_claim: 'Claim for groups',
  help_desk_may_view_as: 'The help desk may view apps as people',
  help_html: 'Help',
  home_location: 'Start page',
  id: 'Number',
  in_maintenance: 'Maintenance',
  inactive_days: 'Days without use, for warnings',
  initial_apps: 'Apps',
  invitation_body: 'Text of invitations',
  invitation_days: 'Days before invitations end, for reminders',
  invitation_subject: 'Subject of invitations',
  invitations_received: 'Invitations to the person',
  invitations_sent: 'Invitations by the person',
  is_active: 'Active',
  is_demo_user: 'Demo account',
  is_one_time: 'Works once',
  is_open: 'Open',
  is_pairwise: 'A different subject in each app',
  is_pinned: 'Pinned to the navigation',
  is_public: 'Public app',
  is_requestable: 'People may ask for it',
  is_required: 'Everyone must log in by it',
  is_shared: 'Shared',
  is_staff: 'Staff',
  is_superuser: 'Superuser',
  isStaff: 'Staff',
  isSuperuser: 'Superuser',
  issuer: 'Address of the provider',
  kind: 'Kind',
  label: 'Name',
  language_code: 'Language',
  last_name: 'Last name',
  last_name_claim: 'Claim for the last name',
  launch_url: 'Address',
  list: 'List',
  login_subtitle: 'Subtitle of the login page',
  login_title: 'Title of the login page',
  mail_view_as: 'People get a mail when someone views an app as them',
  mails: 'Mails',
  maintenance_from: 'Maintenance begins',
  maintenance_message: 'Message during maintenance',
  maintenance_until: 'Maintenance ends',
  members: 'Members',
  memberships: 'Memberships',
  message_404: 'Text of “not found” pages',
  message_500: 'Text of error pages',
  minutes: 'Minutes',
  mode: 'Changes by the directory',
  name: 'Name',
  networks: 'Networks',
  new_id: 'New number',
  password_allow_common: 'Common passwords are allowed',
  password_expiration_days: 'Days until passwords expire',
  password_min_length: 'Shortest password',
  password_require_lower: 'Passwords need a lowercase letter',
  password_require_numeric: 'Passwords need a digit',
  password_require_special: 'Passwords need a special character',
  password_require_upper: 'Passwords need an uppercase letter',
  passkey: 'Passkey',
  people: 'People',
  post_logout_redirect_uris: 'Addresses after logout',
  problem: 'Reason',
  profile_avatar: 'Picture',
  profile_color: 'Colour',
  provisions: 'Adds people at their first login',
  queued: 'Events',
  rank: 'Rank',
  reason: 'Reason',
  redirect_uris: 'Redirect addresses',
  request: 'Request',
  required_claim: 'Required claim',
  required_value: 'Required value',
  requires_pkce: 'PKCE is required',
  revoked: 'Revoked',
  roles: 'Roles',
  saved_filters: 'Saved filters',
  scopes: 'May do',
  search: 'Filters and columns',
  selections: 'Selections',
  sessions: 'Sessions',
  sha256: 'SHA-256 of the package',
  show_footer: 'Footer is shown',
  show_header: 'Header is shown',
  show_help: 'Help is shown',
  signing_algorithm: 'Signature',
  site: 'Site',
  stack: 'Page group',
  stack_slug: 'Page group',
  stacks: 'Page groups',
  subtitle_404: 'Subtitle of “not found” pages',
  subtitle_500: 'Subtitle of error pages',
  support_email: 'Address for help',
  suspend_days: 'Days without use, until people are suspended',
  token: 'Token',
  tokens: 'Tokens',
  types: 'Events',
  upload_bucket_name: 'Bucket for uploads',
  url: 'Address',
  usage_entries: 'Entries of the usage log',
  user: 'Person',
  version: 'Version',
  view_as: 'Can be viewed as a person',
  viewer: 'Seen by',
  weekly_digest: 'Weekly digest',
};

export const hasWords = (field: string): boolean => field in FIELDS;

/** A newer service may record further fields: `new_field` is `New field`. */
export const fieldLabel = (field: string): string =>
  FIELDS[field] ?? capitalized(field.replaceAll('_', ' ').toLowerCase());

/** The words of nothing, where that is a choice. */
const NONE: Record<string, readonly [value: unknown, words: string]> = {
  allowed_networks: ['', 'anywhere'],
  allowed_uses_cnt: [0, 'any number'],
  apps_expire_at: [null, 'no end'],
  days: [null, 'no end'],
  expires_at: [null, 'no end'],
  maintenance_until: [null, 'no end'],
};

/** The words of values, by field. */
const VALUES: Record<string, Record<string, string>> = {
  attributes_mode: { warn: 'warned of', enforce: 'refused' },
  factor_policy: { off: 'off', optional: 'optional', required: 'required', passkey: 'passkey required' },
  kind: { totp: 'authenticator app', passkey: 'passkey' },
  mode: { show: 'shown only', apply: 'applied' },
};

type Labels = ReadonlyMap<string, string>;

/** The value of a field, with the labels of apps instead of their ids. */
export const fieldText = (field: string, value: unknown, appLabels: Labels): string => {
  const none = NONE[field];
  if (none && none[0] === value) return none[1];
  const words = typeof value === 'string' ? VALUES[field]?.[value] : undefined;
  return words ?? valueText(value, appLabels);
};

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** The label of an app for its id, or a time as screens show it; undefined for other texts. */
const knownText = (value: string, appLabels: Labels): string | undefined =>
  appLabels.get(value) ?? (INSTANT.test(value) ? timeText(new Date(value)) : undefined);

export const valueText = (value: unknown, appLabels: Labels): string => {
  if (value === null || value === undefined || value === '') return 'nothing';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) return value.map((item) => itemText(item, appLabels)).join(', ') || 'nothing';
  if (typeof value === 'string') return knownText(value, appLabels) ?? value;
  if (isSetChange(value)) return setChangeText(value, appLabels);
  return JSON.stringify(value);
};

/** Elements that were added to or removed from a set, such as the members of a group. */
type SetChange = { added?: unknown[]; removed?: unknown[]; renamed?: unknown[] };

const isSetChange = (value: unknown): value is SetChange =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).length > 0 &&
  Object.entries(value).every(
    ([key, items]) => ['added', 'removed', 'renamed'].includes(key) && Array.isArray(items),
  );

const setChangeText = ({ added = [], removed = [], renamed = [] }: SetChange, appLabels: Labels): string =>
  Object.entries({ added, removed, renamed })
    .filter(([, items]) => items.length > 0)
    .map(([verb, items]) => `${verb} ${valueText(items, appLabels)}`)
    .join('; ') || 'nothing';

const itemText = (item: unknown, appLabels: Labels): string => {
  if (typeof item === 'string') return appLabels.get(item) ?? item;
  if (typeof item === 'number') return `#${item}`;
  return isChange(item) ? `${item.from} to ${item.to}` : JSON.stringify(item);
};

type Change = { from: unknown; to: unknown };

/** Whether a detail has an old and a new value, not just one value. */
export const isChange = (value: unknown): value is Change =>
  typeof value === 'object' && value !== null && 'from' in value && 'to' in value;

/** The values of some fields are not recorded. */
export const isUnrecorded = ({ from, to }: Change): boolean => from === null && to === null;

/** What happened to a field: `Ends: 12 Dec → 19 Dec`, `Roles: added auditor`; a switch has only its new state. */
export const detailText = (field: string, value: unknown, appLabels: Labels): string => {
  const textOf = (one: unknown): string => fieldText(field, one, appLabels);
  if (!isChange(value)) return textOf(value);
  const { from, to } = value;
  if (isUnrecorded(value)) return 'changed';
  if (typeof to === 'boolean') return textOf(to);
  if (Array.isArray(from) && Array.isArray(to)) {
    const added = to.filter((item) => !from.includes(item));
    const removed = from.filter((item) => !to.includes(item));
    return setChangeText({ added, removed }, appLabels);
  }
  return `${textOf(from)} → ${textOf(to)}`;
};
