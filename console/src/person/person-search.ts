import { oneOf } from '../components/search-params.ts';

export const TABS = ['access', 'profile', 'activity', 'mails', 'security', 'history'] as const;
export type Tab = (typeof TABS)[number];

const DIALOGS = [
  'suspend',
  'offboard',
  'erase',
  'grant',
  'password-link',
  'reset-factors',
  'log-out',
] as const;

export type PersonSearch = {
  tab?: Tab | undefined;
  /** The dialog to open. */
  do?: (typeof DIALOGS)[number] | undefined;
};

/** Reads the tab of a person, and the dialog to open, from the address. */
export const personSearch = ({ tab, do: dialog }: Record<string, unknown>): PersonSearch => ({
  tab: oneOf(tab, TABS),
  do: oneOf(dialog, DIALOGS),
});
