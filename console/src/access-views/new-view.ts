import type { Inputs } from '../api.ts';
import { parseObject } from '../components/json-object.ts';

const HOUR_MS = 3_600_000;

export const LIFETIMES = [
  { label: 'In an hour', ms: HOUR_MS },
  { label: 'In a day', ms: 24 * HOUR_MS },
  { label: 'In a week', ms: 7 * 24 * HOUR_MS },
  { label: 'In 30 days', ms: 30 * 24 * HOUR_MS },
  { label: 'Never', ms: null },
];

/** The values of an empty form. */
export const NEW_VIEW = {
  user: '',
  allowed_uses_cnt: 1,
  lifetime: 'In a day',
  stack_slug: null as string | null, // or the slug of a stack
  data_permissions: '',
  allowed_networks: '',
  autorotate: false,
};

/** Converts the form to the input of the procedure. */
export const toInput = (
  app: string,
  { user, lifetime, data_permissions, ...values }: typeof NEW_VIEW,
): Inputs['accessViews']['create'] => {
  const ms = LIFETIMES.find(({ label }) => label === lifetime)?.ms ?? null;
  return {
    ...values,
    app,
    user: user.trim() || null,
    expires_at: ms === null ? null : new Date(Date.now() + ms),
    data_permissions: data_permissions.trim() === '' ? null : parseObject(data_permissions),
  };
};
