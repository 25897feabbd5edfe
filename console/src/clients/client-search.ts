import { oneOf, textOf } from '../components/search-params.ts';

const TABS = [
  'general',
  'people',
  'directory',
  'data',
  'sign-in',
  'passwords',
  'apps',
  'texts',
  'webhooks',
  'service-accounts',
  'reminders',
  'close',
] as const;
export type Tab = (typeof TABS)[number];

/** Names in links of earlier versions. */
const FORMER: Record<string, Tab> = { roles: 'people', gate: 'apps' };

/** Reads the section of a client from the address. */
export const clientSearch = ({ tab }: Record<string, unknown>): { tab?: Tab | undefined } => ({
  tab: oneOf(tab, TABS) ?? FORMER[String(tab)],
});

const SORTS = ['name', 'people', 'apps', 'last_used_day', 'admins'] as const;
export type Sort = (typeof SORTS)[number];
export type Order = Sort | `-${Sort}`;
const ORDERS: readonly Order[] = SORTS.flatMap((sort) => [sort, `-${sort}`] as const);

type ClientsSearch = {
  search?: string | undefined;
  sort?: Order | undefined;
  /** The dialog to open. */
  do?: 'new' | undefined;
};

/** Reads the search and the order of the list of clients, and the dialog to open, from the address. */
export const clientsSearch = ({ search, sort, do: dialog }: Record<string, unknown>): ClientsSearch => ({
  search: textOf(search),
  sort: oneOf(sort, ORDERS),
  do: oneOf(dialog, ['new']),
});
