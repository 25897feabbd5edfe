import { oneOf } from '../components/search-params.ts';

const TABS = ['people', 'links', 'data', 'versions', 'openid', 'settings'] as const;
export type Tab = 'overview' | (typeof TABS)[number];
export type AppSearch = {
  tab?: (typeof TABS)[number] | undefined;
  /** The dialog to open. */
  do?: 'maintenance' | undefined;
};

/** Reads the tab of an app, and the dialog to open, from the address. */
export const appSearch = ({ tab, do: dialog }: Record<string, unknown>): AppSearch => ({
  tab: oneOf(tab, TABS),
  do: oneOf(dialog, ['maintenance']),
});
