import { idOf, textOf } from '../components/search-params.ts';

export type AppsFilter = {
  search?: string | undefined;
  client?: number | undefined;
  in_maintenance?: boolean | undefined;
};

/** Reads the filter from the address. A value of another type counts as none; the service checks the rest. */
export const appsFilter = ({
  search,
  client,
  in_maintenance: isInMaintenance,
}: Record<string, unknown>): AppsFilter => ({
  search: textOf(search),
  client: idOf(client),
  in_maintenance: typeof isInMaintenance === 'boolean' ? isInMaintenance : undefined,
});
