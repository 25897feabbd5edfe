import { oneOf } from '../components/search-params.ts';

export const APP_WINDOWS = [30, 60, 90] as const;
type Days = (typeof APP_WINDOWS)[number];

const TABS = ['texts', 'data', 'versions', 'openid', 'remove'] as const;
export type Tab = 'overview' | (typeof TABS)[number];
export type AppSearch = { tab?: (typeof TABS)[number] | undefined; days?: Days | undefined };

/** Reads the tab of an app, and the length of its usage chart in days, from the address. */
export const appSearch = ({ tab, days }: Record<string, unknown>): AppSearch => ({
  tab: oneOf(tab, TABS),
  days: APP_WINDOWS.find((window) => window === days),
});
