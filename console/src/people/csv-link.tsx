import { Anchor } from '@mantine/core';
import { type ColumnName, fieldsOf } from './people-columns.tsx';
import { conditionsOf, type PeopleFilter } from './people-filter.ts';

/** All matching people in the order of the list, not only those that were loaded, with the columns that are shown. */
export const CsvLink = ({ filter, shown }: { filter: PeopleFilter; shown: readonly ColumnName[] }) => {
  const columns = fieldsOf(shown).join(',');
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
