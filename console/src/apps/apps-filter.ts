import { idOf, textOf } from '../components/search-params.ts';
import { DAYS_OF } from '../idle/idle-filter.ts';

export type AppsFilter = {
  search?: string | undefined;
  client?: number | undefined;
  in_maintenance?: boolean | undefined;
  is_unused?: boolean | undefined;
  never_used?: boolean | undefined;
};

/** Reads the filter from the address. A value of another type counts as none; the service checks the rest. */
export const appsFilter = ({
  search,
  client,
  in_maintenance: isInMaintenance,
  is_unused: isUnused,
  never_used: neverUsed,
}: Record<string, unknown>): AppsFilter => ({
  search: textOf(search),
  client: idOf(client),
  in_maintenance: flagOf(isInMaintenance),
  is_unused: flagOf(isUnused),
  never_used: flagOf(neverUsed),
});

const flagOf = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);

/** The choices of the filter by use. */
export const USES: readonly (Pick<AppsFilter, 'is_unused' | 'never_used'> & {
  value: string;
  label: string;
})[] = [
  { value: 'unused', label: `Not for ${DAYS_OF.apps} days`, is_unused: true, never_used: undefined },
  { value: 'new', label: 'New, not used yet', is_unused: false, never_used: true },
];
