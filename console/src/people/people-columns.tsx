import type { Outputs } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { FirstName } from '../components/tags.tsx';
import type { Column } from '../components/virtual-table.tsx';
import type { Sort } from './people-filter.ts';
import { AppsCell, LastSeen, NameCell, PersonStatus } from './person-cells.tsx';
import { type Selecting, selectColumn } from './select-people.tsx';

export type Person = Outputs['users']['people'][number];

const NAME: Column<Person, Sort> = {
  heading: 'Name',
  width: 'minmax(18rem, 3fr)',
  sort: 'name',
  cell: (person) => <NameCell person={person} />,
};

/** `field`: the field of a user for the CSV file, which omits columns without one. `isDefault`: shown until the user chooses. */
type Choice = Column<Person, Sort> & { field?: string; isDefault?: boolean };

/** The columns that a user may choose. */
export const CHOICES = {
  email: {
    heading: 'Email address',
    width: '2fr',
    sort: 'email',
    cell: ({ email }) => <span title={email}>{email}</span>,
  },
  handle: { field: 'handle', heading: 'Handle', width: '1fr', cell: ({ handle }) => handle },
  apps: {
    field: 'apps',
    heading: 'Apps',
    width: 'minmax(10rem, 1.7fr)',
    isDefault: true,
    cell: (person) => <AppsCell person={person} />,
  },
  groups: {
    heading: 'Groups',
    width: 'minmax(6rem, 1fr)',
    isDefault: true,
    cell: ({ groups }) => <FirstName names={groups} />,
  },
  status: {
    heading: 'Status',
    width: '5rem',
    isDefault: true,
    cell: (person) => <PersonStatus person={person} />,
  },
  last_seen: {
    heading: 'Last seen',
    width: '6.5rem',
    isDefault: true,
    cell: (person) => <LastSeen person={person} />,
  },
  last_login: {
    field: 'last_login',
    heading: 'Last login',
    width: '9.5rem',
    sort: 'last_login',
    cell: ({ last_login }) => <DateText date={last_login} />,
  },
  date_joined: {
    field: 'date_joined',
    heading: 'Joined',
    width: '9.5rem',
    sort: 'date_joined',
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

/** The fields of the shown columns for the CSV file, which always begins with the name and the address. */
export const fieldsOf = (shown: readonly ColumnName[]): string[] => [
  'first_name',
  'last_name',
  'email',
  'is_active',
  ...shown.flatMap((name) => {
    const { field }: Choice = CHOICES[name];
    return field ?? [];
  }),
];

export const COLUMN_NAMES = Object.fromEntries(
  Object.entries(CHOICES).map(([name, { heading }]) => [name, heading]),
);

/** @param selecting null for users who may not change people */
export const columnsOf = (
  shown: readonly ColumnName[],
  selecting: Selecting | null,
): Column<Person, Sort>[] => [
  ...(selecting ? [selectColumn(selecting)] : []),
  NAME,
  ...shown.map((name) => CHOICES[name]),
];
