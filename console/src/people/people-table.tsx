import { useMemo } from 'react';
import { VirtualTable } from '../components/virtual-table.tsx';
import { type ColumnName, columnsOf, type Person } from './people-columns.tsx';
import type { PeopleFilter } from './people-filter.ts';
import type { Selection } from './use-selection.ts';

type Props = {
  people: Person[];
  shown: ColumnName[];
  selection: Selection | null;
  sort: PeopleFilter['sort'];
  onSort: (sort: PeopleFilter['sort']) => void;
  hasMore: boolean;
  onMore: () => void;
};

export const PeopleTable = ({ people, shown, selection, sort, onSort, hasMore, onMore }: Props) => {
  const columns = useMemo(() => columnsOf(shown, selection), [shown, selection]);
  return (
    <VirtualTable
      label="People"
      columns={columns}
      rows={people}
      keyOf={({ email }) => email}
      sort={sort}
      onSort={onSort}
      hasMore={hasMore}
      onMore={onMore}
    />
  );
};
