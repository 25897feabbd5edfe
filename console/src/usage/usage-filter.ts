import { textOf } from '../components/search-params.ts';

export const USAGE_WINDOWS = [30, 90, 365] as const;
type Days = (typeof USAGE_WINDOWS)[number];

/** Whose usage is shown, as the address states it. */
export type UsageFilter = {
  /** Id of an app. */
  app?: string | undefined;
  email?: string | undefined;
  days?: Days | undefined;
};

/** Reads the filter from the address. A value of another type counts as none; the service checks the rest. */
export const usageFilter = ({ app, email, days }: Record<string, unknown>): UsageFilter => ({
  app: textOf(app),
  email: textOf(email),
  days: USAGE_WINDOWS.find((window) => window === days),
});
