import { timeText } from './date-text.tsx';

/** Labels of fields in details of the audit trail whose names are not clear. */
const FIELD_LABELS: Record<string, string> = {
  access_view: 'Number of the share link',
  allowed_uses_cnt: 'Allowed uses',
  app_id: 'ID of the app',
  autorotate: 'Change the link after each use',
  backchannel_logout_uri: 'Back-channel logout address',
  embed_origins: 'Sites that may show the apps in frames',
  extra: 'Extra data',
  footer_html: 'Footer (HTML)',
  help_html: 'Help (HTML)',
  id: 'Number',
  in_maintenance: 'In maintenance',
  is_active: 'Active',
  is_demo_user: 'Demo account',
  is_one_time: 'One-time link',
  is_pairwise: 'A different subject in each app',
  requires_pkce: 'PKCE is required',
  is_public: 'Public app',
  isStaff: 'Staff',
  isSuperuser: 'Superuser',
  new_id: 'New number',
  post_logout_redirect_uris: 'Addresses after logout',
  redirect_uris: 'Redirect addresses',
  sha256: 'SHA-256',
  user: 'Person',
};

/** `login_title` and `loginTitle` are `Login title`. */
export const fieldLabel = (field: string): string => {
  const words = field
    .replaceAll('_', ' ')
    .replaceAll(/\B[A-Z]/g, ' $&')
    .toLowerCase();
  return FIELD_LABELS[field] ?? capitalized(words);
};

export const capitalized = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** Fields with an end: an empty value means no end. */
const ENDS = new Set(['apps_expire_at', 'days', 'expires_at']);

export const fieldText = (field: string, value: unknown, appLabels: ReadonlyMap<string, string>): string =>
  value === null && ENDS.has(field) ? 'no end' : valueText(value, appLabels);

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The label of an app for its id, or a time as screens show it; undefined for other texts. */
export const knownText = (value: string, appLabels: ReadonlyMap<string, string>): string | undefined =>
  appLabels.get(value) ?? (INSTANT.test(value) ? timeText(new Date(value)) : undefined);

/** The value of a field, with the labels of apps instead of their ids. */
export const valueText = (value: unknown, appLabels: ReadonlyMap<string, string>): string => {
  if (value === null || value === undefined || value === '') return 'nothing';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map((item) => nameText(item, appLabels)).join(', ') || 'nothing';
  if (typeof value === 'string') return knownText(value, appLabels) ?? `“${value}”`;
  if (isSetChange(value)) return setChangeText(value, appLabels);
  return JSON.stringify(value);
};

/** Elements that were added to or removed from a set, such as the members of a group. */
type SetChange = { added?: unknown[]; removed?: unknown[] };

const isSetChange = (value: unknown): value is SetChange =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).length > 0 &&
  Object.entries(value).every(
    ([key, items]) => (key === 'added' || key === 'removed') && Array.isArray(items),
  );

const setChangeText = (
  { added = [], removed = [] }: SetChange,
  appLabels: ReadonlyMap<string, string>,
): string =>
  Object.entries({ added, removed })
    .filter(([, items]) => items.length > 0)
    .map(([verb, items]) => `${verb} ${valueText(items, appLabels)}`)
    .join('; ') || 'nothing';

const nameText = (item: unknown, appLabels: ReadonlyMap<string, string>): string =>
  typeof item === 'string' ? (appLabels.get(item) ?? item) : JSON.stringify(item);

type Change = { from: unknown; to: unknown };

/** Whether a detail has an old and a new value, not just one value. */
export const isChange = (value: unknown): value is Change =>
  typeof value === 'object' && value !== null && 'from' in value && 'to' in value;

/** The values of some fields are not recorded. */
export const isUnrecorded = ({ from, to }: Change): boolean => from === null && to === null;
