import type { Inputs, Outputs } from '../api.ts';
import { isSame } from '../components/form-fields.ts';
import { objectText, parseObject } from '../components/json-object.ts';
import { serverNow } from '../server-clock.ts';

export type ShareLink = Outputs['accessViews']['screen'][number];
type Input = Inputs['accessViews']['create'];

/** Whether the user may change the share link, and so gets it. */
export const isManaged = ({ key }: ShareLink): boolean => key !== '';

/** Whether the link still opens the app, or why not. */
export const stateOf = (link: ShareLink): string => {
  const { is_active, is_person_active, expires_at, allowed_uses_cnt, usages_cnt } = link;
  if (!is_active) return 'off';
  if (expires_at && expires_at.getTime() < serverNow()) return 'expired';
  if (allowed_uses_cnt > 0 && usages_cnt >= allowed_uses_cnt) return 'used up';
  if (!is_person_active) return 'person inactive';
  return 'active';
};

export const usesOf = ({ allowed_uses_cnt, usages_cnt }: ShareLink): string =>
  allowed_uses_cnt === 0 ? String(usages_cnt) : `${usages_cnt} of ${allowed_uses_cnt}`;

/** The person whom the app shows, or who has the link. */
export const audienceOf = ({ user, person_name: name }: ShareLink): string =>
  user === null ? 'Anyone' : name || user || 'Someone who has left';

/** The label, or what stands for it. */
export const titleOf = (link: ShareLink): string =>
  link.label || (link.user === null ? 'Link for anyone' : `Link for ${audienceOf(link)}`);

/** The HTML that shows the app in another page. */
export const frameOf = ({ url, app }: ShareLink): string =>
  `<iframe src="${url}" title="${app}" width="100%" height="800"></iframe>`;

export const ENDS = ['1 day', '7 days', 'Until Friday', '30 days', 'No end', 'Date and time'] as const;

const DAYS: Record<string, number> = { '1 day': 1, '7 days': 7, '30 days': 30 };
const FRIDAY = 5;

/**
 * When a link ends, in the time zone of the browser: after whole days, or late on the next Friday, which on a Friday is a week later. Null:
 * never; undefined: no date is entered.
 */
export const endOf = ({ end, date }: { end: string; date: string }, now: Date): Date | null | undefined => {
  if (end === 'No end') return null;
  if (end === 'Date and time') return date === '' ? undefined : new Date(date);
  const day = new Date(now);
  day.setDate(now.getDate() + (DAYS[end] ?? ((FRIDAY - now.getDay() + 6) % 7) + 1));
  if (end === 'Until Friday') day.setHours(23, 59, 0, 0);
  return day;
};

/** `2026-12-04T23:59`, in the time zone of the browser. */
export const localTime = (date: Date): string =>
  new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** The values of the form. */
export type LinkValues = {
  label: string;
  end: string;
  date: string; // as of `localTime`; applies if a date is chosen as the end
  audience: 'anyone' | 'person';
  user: string;
  uses: number | string; // empty: any number
  data_permissions: string; // the text of a JSON object, as `selections`
  selections: string;
  stack_slug: string | null;
  networks: string[];
  autorotate: boolean;
  show_header: boolean;
  show_footer: boolean;
  language_code: string;
};

export const NEW_LINK: LinkValues = {
  label: '',
  end: '7 days',
  date: '',
  audience: 'anyone',
  user: '',
  uses: '',
  data_permissions: '',
  selections: '',
  stack_slug: null,
  networks: [],
  autorotate: false,
  show_header: true,
  show_footer: true,
  language_code: '',
};

/** The form of an existing link. */
export const valuesOf = (link: ShareLink): LinkValues => ({
  label: link.label,
  end: link.expires_at ? 'Date and time' : 'No end',
  date: link.expires_at ? localTime(link.expires_at) : '',
  audience: link.user === null ? 'anyone' : 'person',
  user: link.user ?? '',
  uses: link.allowed_uses_cnt || '',
  data_permissions: objectText(link.data_permissions),
  selections: objectText(link.selections),
  stack_slug: link.stack_slug,
  networks: link.allowed_networks.split(',').filter(Boolean),
  autorotate: link.autorotate,
  show_header: link.show_header,
  show_footer: link.show_footer,
  language_code: link.language_code,
});

/** What can be changed later. */
export const settingsOf = (values: LinkValues, now: Date) => {
  const { label, uses, data_permissions, selections, networks, stack_slug, language_code } = values;
  return {
    label: label.trim(),
    expires_at: endOf(values, now) ?? null,
    allowed_uses_cnt: Number(uses),
    data_permissions: parseObject(data_permissions),
    selections: parseObject(selections),
    stack_slug,
    allowed_networks: networks.join(','),
    autorotate: values.autorotate,
    show_header: values.show_header,
    show_footer: values.show_footer,
    language_code,
  };
};

type Settings = ReturnType<typeof settingsOf>;

export const inputOf = (app: string, values: LinkValues, now: Date): Input => ({
  ...settingsOf(values, now),
  app,
  user: values.audience === 'person' ? values.user.trim() : null,
});

/** Objects are compared, but not shown as a whole. */
const UNSHOWN: readonly string[] = ['data_permissions', 'selections'];

/** The changed settings, and their old and new values as the audit trail records them. */
export const changesOf = (before: Settings, after: Settings) => {
  const fields = (Object.keys(after) as (keyof Settings)[]).filter(
    (field) => !isSame(before[field], after[field]),
  );
  const shown = (field: keyof Settings, { [field]: value }: Settings): unknown =>
    UNSHOWN.includes(field) ? null : value instanceof Date ? value.toISOString() : value;
  return {
    settings: Object.fromEntries(fields.map((field) => [field, after[field]])) as Partial<Settings>,
    details: Object.fromEntries(
      fields.map((field) => [field, { from: shown(field, before), to: shown(field, after) }]),
    ),
  };
};
