import { useEffect, useMemo, useRef } from 'react';
import { VirtualTable } from '../components/virtual-table.tsx';
import { type ColumnName, columnsOf, type Person } from './people-columns.tsx';
import type { PeopleFilter } from './people-filter.ts';
import type { Selection } from './use-selection.ts';

type Props = {
  people: Person[];
  shown: ColumnName[];
  selection: Selection | null;
  /** Whether these are all who match. */
  isComplete: boolean;
  sort: PeopleFilter['sort'];
  onSort: (sort: PeopleFilter['sort']) => void;
  hasMore: boolean;
  onMore: () => void;
};

export const PeopleTable = ({
  people,
  shown,
  selection,
  isComplete,
  sort,
  onSort,
  hasMore,
  onMore,
}: Props) => {
  // Read when a person is selected, so that the columns stay the same while pages are added.
  const listed = useRef<readonly string[]>([]);
  useEffect(() => {
    listed.current = people.map(({ email }) => email);
  }, [people]);
  const columns = useMemo(
    () => columnsOf(shown, selection && { selection, listed: () => listed.current, isComplete }),
    [shown, selection, isComplete],
  );
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
