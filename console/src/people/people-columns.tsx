import { Avatar, Badge, Checkbox, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Outputs } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import type { Column } from '../components/virtual-table.tsx';
import { nameOf } from './name-of.ts';
import type { Sort } from './people-filter.ts';
import type { Selection } from './use-selection.ts';

export type Person = Outputs['users']['people'][number];

/** Admins can open all apps of their clients, without grants. */
const AppCount = ({ apps, clientadmin_of: clients }: Pick<Person, 'apps' | 'clientadmin_of'>) =>
  clients.length > 0 ? <span title="Has all apps of the client as its admin">all</span> : apps.length;

const NAME: Column<Person, Sort> = {
  heading: 'Name',
  width: 'minmax(12rem, 2.1fr)',
  sort: 'name',
  cell: (person) => <NameCell person={person} />,
};

/** `field`: of a user in the CSV file, which leaves out columns without one. `isDefault`: shown until the user chooses. */
type Choice = Column<Person, Sort> & { field?: string; isDefault?: boolean };

/** The columns that a user may choose. */
export const CHOICES = {
  email: {
    field: 'email',
    heading: 'Email address',
    width: '2fr',
    sort: 'email',
    isDefault: true,
    cell: ({ email }) => <span title={email}>{email}</span>,
  },
  handle: { field: 'handle', heading: 'Handle', width: '1fr', cell: ({ handle }) => handle },
  apps: {
    field: 'apps',
    heading: 'Apps',
    width: '4rem',
    isDefault: true,
    cell: (person) => <AppCount {...person} />,
  },
  last_login: {
    field: 'last_login',
    heading: 'Last login',
    width: '9.5rem',
    sort: 'last_login',
    isDefault: true,
    cell: ({ last_login }) => <DateText date={last_login} />,
  },
  date_joined: {
    field: 'date_joined',
    heading: 'Joined',
    width: '9.5rem',
    sort: 'date_joined',
    isDefault: true,
    cell: ({ date_joined }) => <DateText date={date_joined} />,
  },
  administers: {
    field: 'clientadmin_of',
    heading: 'Client admin',
    width: '1fr',
    cell: ({ clientadmin_of }) => (clientadmin_of.length > 0 ? 'Yes' : ''),
  },
} satisfies Record<string, Choice>;

export type ColumnName = keyof typeof CHOICES;

export const isColumnName = (name: string): name is ColumnName => name in CHOICES;

const isDefault = (name: ColumnName): boolean => {
  const choice: Choice = CHOICES[name];
  return choice.isDefault === true;
};

export const DEFAULT_COLUMNS = Object.keys(CHOICES).filter(isColumnName).filter(isDefault);

/** The fields behind the columns of the CSV file, which always begins with the name. */
export const fieldsOf = (shown: readonly ColumnName[]): string[] => [
  'first_name',
  'last_name',
  'is_active',
  ...shown.flatMap((name) => {
    const { field }: Choice = CHOICES[name];
    return field ?? [];
  }),
];

export const COLUMN_NAMES = Object.fromEntries(
  Object.entries(CHOICES).map(([name, { heading }]) => [name, heading]),
);

/** People can be selected one by one, in a range, or all who match. */
export type Selecting = {
  selection: Selection;
  /** The addresses that the list has loaded. */
  listed: () => readonly string[];
  /** Whether these are all who match. */
  isComplete: boolean;
};

const selectColumn = ({ selection, listed, isComplete }: Selecting): Column<Person, Sort> => ({
  heading: <SelectAll selection={selection} listed={listed} isComplete={isComplete} />,
  id: 'select',
  width: '1.5rem',
  cell: ({ email }) => (
    <Checkbox
      aria-label={`Select ${email}`}
      checked={selection.isSelected(email)}
      disabled={selection.selected === 'all'}
      onChange={({ nativeEvent }) =>
        nativeEvent instanceof MouseEvent && nativeEvent.shiftKey
          ? selection.extendTo(email, listed())
          : selection.toggle(email)
      }
    />
  ),
});

/** @param selecting null for users who may not change people */
export const columnsOf = (
  shown: readonly ColumnName[],
  selecting: Selecting | null,
): Column<Person, Sort>[] => [
  ...(selecting ? [selectColumn(selecting)] : []),
  NAME,
  ...shown.map((name) => CHOICES[name]),
];

const SelectAll = ({ selection: { selected, selectAll, clear }, listed, isComplete }: Selecting) => {
  const isAll = selected === 'all' || (isComplete && selected.size > 0 && selected.size === listed().length);
  return (
    <Checkbox
      aria-label="Select all who match"
      checked={isAll}
      indeterminate={!isAll && selected.size > 0}
      onChange={() => (isAll ? clear() : selectAll(isComplete ? listed() : null))}
    />
  );
};

const NameCell = ({ person }: { person: Person }) => (
  <Group gap="xs" wrap="nowrap">
    <Avatar src={person.profile_avatar} alt="" size={28} />
    <Link className="text-link" to="/people/$email" params={{ email: person.email }}>
      {nameOf(person)}
    </Link>
    {!person.is_active && (
      <Badge variant="default" tt="none" flex="none">
        Inactive
      </Badge>
    )}
  </Group>
);
