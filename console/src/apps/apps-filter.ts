import { idOf, textOf } from '../components/search-params.ts';
import { DAYS_WITHOUT_USE, UNUSED_DAYS } from '../views/views.ts';

export type AppsFilter = {
  search?: string | undefined;
  client?: number | undefined;
  in_maintenance?: boolean | undefined;
  /** Apps that are older than this many days, and were not used in them. */
  unused_days?: number | undefined;
  /** New apps without any use. */
  never_used?: true | undefined;
  /** The saved view that was opened. */
  view?: number | undefined;
};

/** Reads the filter from the address. A value of another type counts as none; the service checks the rest. */
export const appsFilter = (address: Record<string, unknown>): AppsFilter => ({
  search: textOf(address.search),
  client: idOf(address.client),
  in_maintenance: typeof address.in_maintenance === 'boolean' ? address.in_maintenance : undefined,
  unused_days: idOf(address.unused_days),
  never_used: address.never_used === true || undefined,
  view: idOf(address.view),
});

/** Converts to the filter of the service, for which apps are new until they count as unused. */
export const conditionsOf = ({ view: _view, never_used, ...filter }: AppsFilter) => ({
  ...filter,
  ...(never_used && { never_used, is_unused: false, unused_days: UNUSED_DAYS.apps }),
});

const NEW = 'new';

/** The choices of the filter by use. */
export const USES = [
  ...DAYS_WITHOUT_USE.map((days) => ({ value: String(days), label: `Not for ${days} days` })),
  { value: NEW, label: 'New, not used yet' },
];

export const useOf = ({ unused_days, never_used }: AppsFilter): string | undefined =>
  never_used ? NEW : unused_days?.toString();

export const filterOfUse = (use: string | undefined): Pick<AppsFilter, 'unused_days' | 'never_used'> => ({
  unused_days: use === undefined || use === NEW ? undefined : Number(use),
  never_used: use === NEW || undefined,
});
