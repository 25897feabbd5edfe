import { useEffect, useMemo, useRef } from 'react';
import type { Card } from '../components/row-card.tsx';
import { TableSkeleton } from '../components/table-skeleton.tsx';
import { VirtualTable } from '../components/virtual-table.tsx';
import classes from './people.module.css';
import {
  AppsCell,
  type ColumnName,
  columnsOf,
  LastSeen,
  type Person,
  PersonLink,
  PersonStatus,
  RowAvatar,
} from './people-columns.tsx';
import type { PeopleFilter } from './people-filter.ts';
import { SelectAll, type Selecting, SelectPerson } from './select-people.tsx';
import type { Selection } from './use-selection.ts';

type Props = {
  people: Person[];
  shown: ColumnName[];
  selection: Selection | null;
  /** The number of all matching people; undefined until it is known. */
  total: number | undefined;
  /** Whether all matching people are loaded. */
  isComplete: boolean;
  sort: PeopleFilter['sort'];
  onSort: (sort: PeopleFilter['sort']) => void;
  hasMore: boolean;
  onMore: () => void;
};

export const PeopleTable = ({ people, shown, selection, isComplete, total, ...table }: Props) => {
  const selecting = useSelecting(people, selection, isComplete);
  const columns = useMemo(() => columnsOf(shown, selecting), [shown, selecting]);
  const card = useMemo(() => cardOf(selecting), [selecting]);
  return (
    <VirtualTable
      label="People"
      columns={columns}
      card={card}
      rows={people}
      total={total ?? (isComplete ? people.length : 'unknown')}
      keyOf={({ email }) => email}
      isSelected={selection ? ({ email }) => selection.isSelected(email) : undefined}
      {...table}
    />
  );
};

const useSelecting = (
  people: Person[],
  selection: Selection | null,
  isComplete: boolean,
): Selecting | null => {
  // Read when a person is selected, so that the columns stay the same while pages are added.
  const listed = useRef<readonly string[]>([]);
  useEffect(() => {
    listed.current = people.map(({ email }) => email);
  }, [people]);
  return useMemo(
    () => selection && { selection, listed: () => listed.current, isComplete },
    [selection, isComplete],
  );
};

const CARD_HEIGHT = 96;

/** A person in the list on phones. */
const PersonCard = ({ person, selecting }: { person: Person; selecting: Selecting | null }) => (
  <div className={classes.card}>
    {selecting && <SelectPerson selecting={selecting} email={person.email} />}
    <RowAvatar person={person} size={32} />
    <div className={classes.lines}>
      <span className={classes.line}>
        <PersonLink person={person} />
        <PersonStatus person={person} />
      </span>
      <span className={classes.address} title={person.email}>
        {person.email}
      </span>
      <span className={classes.line}>
        <AppsCell person={person} />
        <LastSeen person={person} />
      </span>
    </div>
  </div>
);

const cardOf = (selecting: Selecting | null): Card<Person> => ({
  height: CARD_HEIGHT,
  heading: selecting ? <SelectAll {...selecting} label="All who match" /> : undefined,
  content: (person) => <PersonCard person={person} selecting={selecting} />,
});

/** The card while the table is loading. */
const SKELETON_CARD: Card<Person> = { height: CARD_HEIGHT, content: () => null };

export const PeopleSkeleton = ({ shown }: { shown: ColumnName[] }) => (
  <TableSkeleton columns={columnsOf(shown, null)} card={SKELETON_CARD} rows={14} />
);
