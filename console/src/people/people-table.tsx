import { VirtualTable } from '../components/virtual-table.tsx';
import { type ColumnName, columnsOf, type Person } from './people-columns.tsx';
import type { PeopleFilter } from './people-filter.ts';

type Props = {
  people: Person[];
  shown: ColumnName[];
  sort: PeopleFilter['sort'];
  onSort: (sort: PeopleFilter['sort']) => void;
  hasMore: boolean;
  onMore: () => void;
};

export const PeopleTable = ({ people, shown, sort, onSort, hasMore, onMore }: Props) => (
  <VirtualTable
    label="People"
    columns={columnsOf(shown)}
    rows={people}
    keyOf={({ email }) => email}
    sort={sort}
    onSort={onSort}
    hasMore={hasMore}
    onMore={onMore}
  />
);
