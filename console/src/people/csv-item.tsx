import { Menu } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { type ColumnName, fieldsOf } from './people-columns.tsx';
import { conditionsOf, type PeopleFilter } from './people-filter.ts';

/** Downloads all matching people in the order of the list, not only the loaded ones, with the shown columns. */
export const CsvItem = ({ filter, shown }: { filter: PeopleFilter; shown: readonly ColumnName[] }) => {
  const columns = fieldsOf(shown).join(',');
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...conditionsOf(filter), sort: filter.sort, columns })) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return (
    <Menu.Item
      component="a"
      href={`/api/v1/jb/users/table/?${query}`}
      download="people.csv"
      leftSection={<IconDownload size={16} stroke={1.6} aria-hidden />}
    >
      Download CSV
    </Menu.Item>
  );
};
