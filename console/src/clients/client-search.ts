import { oneOf } from '../components/search-params.ts';

const TABS = [
  'texts',
  'passwords',
  'sign-in',
  'directory',
  'reminders',
  'roles',
  'data',
  'gate',
  'webhooks',
  'close',
] as const;
export type Tab = (typeof TABS)[number];

/** Reads the tab of a client from the address. */
export const clientSearch = ({ tab }: Record<string, unknown>): { tab?: Tab | undefined } => ({
  tab: oneOf(tab, TABS),
});
