import { Anchor } from '@mantine/core';
import type { ColumnName } from './people-columns.tsx';
import { conditionsOf, type PeopleFilter } from './people-filter.ts';

/** The fields behind each column of the table, which always begins with the name. */
const FIELDS: Record<ColumnName, string> = {
  email: 'email',
  handle: 'handle',
  apps: 'apps',
  last_login: 'last_login',
  date_joined: 'date_joined',
  administers: 'clientadmin_of',
};

/** All matching people in the order of the list, not only those that were loaded, with the columns that are shown. */
export const CsvLink = ({ filter, shown }: { filter: PeopleFilter; shown: readonly ColumnName[] }) => {
  const columns = ['first_name', 'last_name', 'is_active', ...shown.map((name) => FIELDS[name])].join(',');
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...conditionsOf(filter), sort: filter.sort, columns })) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return (
    <Anchor href={`/api/v1/jb/users/table/?${query}`} download="people.csv">
      Download CSV
    </Anchor>
  );
};
