import { oneOf } from '../components/search-params.ts';

const TABS = ['people', 'links', 'data', 'versions', 'openid', 'settings'] as const;
export type Tab = 'overview' | (typeof TABS)[number];
export type AppSearch = { tab?: (typeof TABS)[number] | undefined };

/** Reads the tab of an app from the address. */
export const appSearch = ({ tab }: Record<string, unknown>): AppSearch => ({ tab: oneOf(tab, TABS) });
