import { Button, Checkbox, Menu, Popover, Stack } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { IconColumns3, IconDownload, IconUserPlus } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { trpc } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PersonLink } from '../components/person-link.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import type { Card } from '../components/row-card.tsx';
import { RowCount } from '../components/row-count.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { TableSkeleton } from '../components/table-skeleton.tsx';
import { VirtualTable } from '../components/virtual-table.tsx';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { NoPeopleYet } from './no-people-yet.tsx';
import classes from './people.module.css';
import {
  AppsCell,
  COLUMN_NAMES,
  type ColumnName,
  columnsOf,
  defaultColumns,
  fieldsOf,
  isColumnName,
  LastSeen,
  type Person,
  PersonStatus,
  RowAvatar,
} from './people-columns.tsx';
import { conditionsOf, type PeopleFilter } from './people-filter.ts';
import { PeopleFilters } from './people-filters.tsx';
import { peopleQuery } from './people-query.ts';
import { SelectAll, type Selecting, SelectPerson } from './select-people.tsx';
import { hasBulkActions, useBulkBar } from './use-bulk-bar.tsx';
import { type Selection, useSelection } from './use-selection.ts';

const route = getRouteApi('/people');

/** All people whom the user may see. The filter is part of the address. */
export const PeopleScreen = () => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const { roles } = useSession();
  const canSelect = hasBulkActions(roles);
  const change = useCallback(
    (changes: Partial<PeopleFilter>): void =>
      void navigate({ search: (previous) => ({ ...previous, ...changes }), replace: true }),
    [navigate],
  );
  const columns = useColumns(filter.columns, (names) => change({ columns: names }));
  const conditions = conditionsOf(filter);
  const selection = useSelection(JSON.stringify(conditions));
  const people = useInfiniteQuery(peopleQuery(filter));
  // After the rows: for a short word, counting all matches takes longer than finding the first ones.
  const hasRows = people.isSuccess && !people.isPlaceholderData;
  const total = useQuery(
    trpc.users.count.queryOptions(conditions, {
      enabled: hasRows,
      placeholderData: keepPreviousData,
      trpc: { abortOnUnmount: true },
    }),
  ).data?.count;
  const rows = people.data?.pages.flat() ?? [];
  const { bar, panels } = useBulkBar({ selection, filter: conditions, total: total ?? 0, shown: rows });
  return (
    <>
      <ScreenHeader
        title="People"
        count={<RowCount total={total} one="person" many="people" />}
        actions={
          <>
            <ColumnMenu {...columns} />
            {mayDo(roles, 'manage-people') && (
              <Button
                leftSection={<IconUserPlus size={16} stroke={1.6} aria-hidden />}
                renderRoot={(props) => <Link {...props} to="/invite" />}
              >
                Invite people
              </Button>
            )}
          </>
        }
        menu={<CsvItem filter={filter} shown={columns.shown} />}
      />
      <PeopleFilters filter={filter} columns={columns.shown.join()} onChange={change} />
      {panels}
      <ProblemAlert error={people.error} />
      {people.isPending && <PeopleSkeleton shown={columns.shown} />}
      {people.isSuccess && rows.length === 0 && (
        <>
          {isNarrowed(conditions) ? (
            <EmptyState title="No one matches">
              {filter.unseen_days !== undefined &&
                `Listed are people who have neither logged in nor used an app for ${filter.unseen_days} days, and joined before that time. `}
              Change the filter, or invite someone.
            </EmptyState>
          ) : (
            <NoPeopleYet client={filter.client} />
          )}
          {filter.search !== undefined && <InvitedNotice search={filter.search} />}
        </>
      )}
      {rows.length > 0 && (
        <PeopleTable
          people={rows}
          shown={columns.shown}
          selection={canSelect ? selection : null}
          total={hasRows ? total : undefined}
          isComplete={hasRows && !people.hasNextPage}
          sort={filter.sort}
          onSort={(chosen) => change({ sort: chosen })}
          hasMore={people.hasNextPage && !people.isFetchingNextPage}
          onMore={() => void people.fetchNextPage()}
        />
      )}
      {canSelect && bar}
    </>
  );
};

/** Whether the filter is about more than a client. */
const isNarrowed = ({ client: _client, ...conditions }: ReturnType<typeof conditionsOf>): boolean =>
  Object.values(conditions).some((value) => value !== undefined);

type Columns = { shown: ColumnName[]; setShown: (shown: readonly string[]) => void };

/**
 * The columns in the address, as of a saved view; without these, those that the user has chosen, which this browser stores.
 * @param change changes those in the address
 */
const useColumns = (inAddress: string | undefined, change: (columns: string) => void): Columns => {
  const { roles } = useSession();
  const [stored, setStored] = useLocalStorage<string[]>({
    key: 'people-table',
    defaultValue: defaultColumns(roles),
    getInitialValueInEffect: false,
  });
  // There may be the name of a column that no longer exists.
  const shown = useMemo(() => (inAddress?.split(',') ?? stored).filter(isColumnName), [inAddress, stored]);
  return {
    shown,
    setShown: (names) => {
      const ordered = Object.keys(COLUMN_NAMES).filter((name) => names.includes(name));
      if (inAddress === undefined) setStored(ordered);
      else change(ordered.join());
    },
  };
};

const ColumnMenu = ({ shown, setShown }: Columns) => (
  <Popover position="bottom-end">
    <Popover.Target>
      <Button
        variant="default"
        visibleFrom="sm"
        leftSection={<IconColumns3 size={16} stroke={1.6} aria-hidden />}
      >
        Columns
      </Button>
    </Popover.Target>
    <Popover.Dropdown>
      <Checkbox.Group label="Show" value={shown} onChange={(names) => setShown(names)}>
        <Stack gap="xs" mt="xs">
          {Object.entries(COLUMN_NAMES).map(([name, heading]) => (
            <Checkbox key={name} value={name} label={heading} />
          ))}
        </Stack>
      </Checkbox.Group>
    </Popover.Dropdown>
  </Popover>
);

/** Downloads all matching people in the order of the list, not only the loaded ones, with the shown columns. */
const CsvItem = ({ filter, shown }: { filter: PeopleFilter; shown: readonly ColumnName[] }) => {
  const columns = fieldsOf(shown).join(',');
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...conditionsOf(filter), sort: filter.sort, columns })) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return (
    <Menu.Item
      component="a"
      href={`/api/v1/jb/users/table/?${query}`}
      download
      leftSection={<IconDownload size={16} stroke={1.6} aria-hidden />}
    >
      Download CSV
    </Menu.Item>
  );
};

/** Links to the pending invitations of a person who was searched among the people. */
const InvitedNotice = ({ search }: { search: string }) => {
  const found = useQuery(trpc.invitations.search.queryOptions({ search, limit: 1 }));
  if (!found.data?.length) return null;
  return (
    <Link className="text-link" to="/invitations" search={{ search }}>
      Pending invitations match “{search}”
    </Link>
  );
};

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

const PeopleTable = ({ people, shown, selection, isComplete, total, ...table }: Props) => {
  const selecting = useSelecting(people, selection, isComplete);
  const clientName = useClientName();
  const columns = useMemo(() => columnsOf(shown, selecting, clientName), [shown, selecting, clientName]);
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
        <PersonLink person={person} className={classes.link} />
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

const PeopleSkeleton = ({ shown }: { shown: ColumnName[] }) => (
  <TableSkeleton columns={columnsOf(shown, null)} card={SKELETON_CARD} rows={14} />
);
