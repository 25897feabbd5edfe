import type { Outputs } from '../api.ts';

export type AccessView = Outputs['accessViews']['screen'][number];

/** Whether the user may change the view, and so gets its link. */
export const isManaged = ({ key }: AccessView): boolean => key !== '';

/** Whether the link still opens the app, or why not. */
export const stateOf = (view: AccessView): string => {
  const { is_active, is_person_active, expires_at, allowed_uses_cnt, usages_cnt } = view;
  if (!is_active) return 'revoked';
  if (expires_at && expires_at < new Date()) return 'expired';
  if (allowed_uses_cnt > 0 && usages_cnt >= allowed_uses_cnt) return 'used up';
  if (!is_person_active) return 'person suspended';
  return 'active';
};

export const usesOf = ({ allowed_uses_cnt, usages_cnt }: AccessView): string =>
  allowed_uses_cnt === 0 ? String(usages_cnt) : `${usages_cnt} of ${allowed_uses_cnt}`;

/** The HTML that shows the app in another page. */
export const frameOf = ({ url, app }: AccessView): string =>
  `<iframe src="${url}" title="${app}" width="100%" height="800"></iframe>`;
