import { oneOf } from '../components/search-params.ts';

export const TABS = ['access', 'profile', 'activity', 'mails', 'security', 'history'] as const;
export type Tab = (typeof TABS)[number];

/** Reads the tab of a person from the address. */
export const personSearch = ({ tab }: Record<string, unknown>): { tab?: Tab | undefined } => ({
  tab: oneOf(tab, TABS),
});
