import type { Outputs } from '../api.ts';
import { avatarOf } from '../components/avatar-of.ts';
import { capitalized } from '../components/capitalized.ts';
import type { Column } from '../components/column.ts';
import { agoOf, DateText, dayAgoOf, dayText, exactTimeOf } from '../components/date-text.tsx';
import { nameOf } from '../components/name-of.ts';
import { PersonLink } from '../components/person-link.tsx';
import { StatusText } from '../components/status-text.tsx';
import { FirstName, Tags } from '../components/tags.tsx';
import { canViewAll, ROLES, type Roles, roleLabel } from '../session/roles.ts';
import classes from './people.module.css';
import type { Sort } from './people-filter.ts';
import { type Selecting, selectColumn } from './select-people.tsx';

export type Person = Outputs['users']['people'][number];

const NAME: Column<Person, Sort> = {
  heading: 'Name',
  width: 'minmax(15rem, 3fr)',
  sort: 'name',
  cell: (person) => <NameCell person={person} />,
};

/** `field`: the field of a user for the CSV file, which omits columns without one. `isDefault`: shown until the user chooses. */
type Choice = Column<Person, Sort> & { field?: string; isDefault?: (roles: Roles) => boolean };

const always = (): boolean => true;

/** By its id. A row does not look it up: each would subscribe to the list of clients. */
type ClientName = (id: number) => string;

/** The columns that a user may choose. */
const choicesOf = (clientName: ClientName) =>
  ({
    email: {
      heading: 'Email address',
      width: '2fr',
      sort: 'email',
      cell: ({ email }) => <span title={email}>{email}</span>,
    },
    handle: { field: 'handle', heading: 'Handle', width: '1fr', cell: ({ handle }) => handle },
    clients: {
      heading: 'Clients',
      width: 'minmax(7rem, 1fr)',
      isDefault: canViewAll,
      cell: ({ clients }: Person) => <FirstName names={clients.map(clientName)} />,
    },
    roles: {
      field: 'clientadmin_of',
      heading: 'Roles',
      width: 'minmax(8rem, 1.2fr)',
      isDefault: canViewAll,
      cell: (person: Person) => <FirstName names={rolesOf(person, clientName)} />,
    },
    apps: {
      field: 'apps',
      heading: 'Apps',
      width: 'minmax(9rem, 1.7fr)',
      isDefault: always,
      cell: (person) => <AppsCell person={person} />,
    },
    groups: {
      heading: 'Groups',
      width: 'minmax(6rem, 1fr)',
      isDefault: (roles) => !canViewAll(roles),
      cell: ({ groups }) => <FirstName names={groups} />,
    },
    status: {
      heading: 'Status',
      width: '7rem',
      isDefault: always,
      cell: (person) => <PersonStatus person={person} />,
    },
    last_seen: {
      heading: 'Last seen',
      width: '6.5rem',
      isDefault: always,
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
  }) satisfies Record<string, Choice>;

const CHOICES = choicesOf(String);
export type ColumnName = keyof typeof CHOICES;

export const isColumnName = (name: string): name is ColumnName => name in CHOICES;

/** The columns of a user who has chosen none. */
export const defaultColumns = (roles: Roles): ColumnName[] =>
  Object.keys(CHOICES)
    .filter(isColumnName)
    .filter((name) => {
      const { isDefault }: Choice = CHOICES[name];
      return isDefault?.(roles);
    });

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
  clientName: ClientName = String,
): Column<Person, Sort>[] => {
  const choices = choicesOf(clientName);
  return [...(selecting ? [selectColumn(selecting)] : []), NAME, ...shown.map((name) => choices[name])];
};

type Props = { person: Person };

export const RowAvatar = ({ person, size }: Props & { size: number }) => (
  <img className={classes.avatar} src={avatarOf(person)} alt="" width={size} height={size} />
);

const NameCell = ({ person }: Props) => (
  <span className={classes.name}>
    <RowAvatar person={person} size={24} />
    <PersonLink person={person} className={classes.link} />
    {nameOf(person) !== person.email && (
      <span className={classes.address} title={person.email}>
        {person.email}
      </span>
    )}
  </span>
);

/** People who open apps by a role have no grants to list. */
export const AppsCell = ({ person: { app_labels, role, clientadmin_of } }: Props) => {
  if (role !== null) return <AllApps reason="Superusers and staff open all apps." />;
  if (clientadmin_of.length > 0) return <AllApps reason="Client admins open all apps of their clients." />;
  return app_labels.length === 0 ? '–' : <Tags names={app_labels} shown={2} />;
};

const AllApps = ({ reason }: { reason: string }) => (
  <span className={classes.muted} title={reason}>
    All apps
  </span>
);

export const PersonStatus = ({ person: { is_active } }: Props) =>
  is_active ? <StatusText color="green" label="Active" /> : <StatusText color="yellow" label="Suspended" />;

/** The last login, or, if it is later, the last day on which the person used an app (without a time). */
export const LastSeen = ({ person: { last_login: login, last_used_day: day } }: Props) => {
  const isUseLater = day !== null && (login === null || day > login.toISOString().slice(0, 10));
  const loginText = login ? `Last login: ${exactTimeOf(login)}` : 'Never logged in';
  if (isUseLater)
    return (
      <time
        className={classes.muted}
        dateTime={day}
        title={`Last used an app: ${dayText(day)}. ${loginText}`}
      >
        {dayAgoOf(day)}
      </time>
    );
  if (!login) return <span className={classes.muted}>Never</span>;
  return (
    <time className={classes.muted} dateTime={login.toISOString()} title={exactTimeOf(login)}>
      {agoOf(login)}
    </time>
  );
};

/** Strongest first. The client is named if the person has roles in one of several clients. */
const rolesOf = ({ role, clients, client_roles }: Person, clientName: ClientName): string[] => {
  const inAll = ROLES.filter(({ name }) => name === role).map(labelOf);
  const inClients = client_roles.flatMap(({ client, roles }) =>
    ROLES.filter(({ name }) => roles.includes(name)).map(
      (one) => labelOf(one) + (clients.length > 1 ? ` of ${clientName(client)}` : ''),
    ),
  );
  return [...inAll, ...inClients];
};

const labelOf = (role: (typeof ROLES)[number]): string => capitalized(roleLabel(role));
