/** Actions of users beyond their own account, apps and saved filters. */
export type Action =
  /** Sees users, invitations, clients, apps, usage and mails. */
  | 'view'
  /** Changes these, and sees data that only users who make these changes may see. */
  | 'manage'
  /** Fetches and loads apps. */
  | 'operate'
  | 'read-audit'
  /** Reads the entries of the audit trail that platforms react to, such as cleared caches. */
  | 'poll-events'
  /** Changes data of all clients, such as roles. */
  | 'administer';

/** Roles in all clients, the strongest first. `flag`: the property of `User` that grants it, and its column. */
export const GLOBAL_ROLES = [
  {
    name: 'superuser',
    plural: 'superusers',
    flag: 'isSuperuser',
    column: 'is_superuser',
    actions: ['view', 'manage', 'operate', 'read-audit', 'poll-events', 'administer'],
  },
  {
    name: 'staff',
    plural: 'staff',
    flag: 'isStaff',
    column: 'is_staff',
    actions: ['view', 'operate', 'poll-events'],
  },
] as const satisfies readonly (RoleTerms & Record<'flag' | 'column', string>)[];

/**
 * A role in single clients. `flag`: the property of `Membership` that grants it, and its column. `role`: the clients in which a user has
 * it, and their `field` in the API. `given`, `ended`: the actions in the audit trail.
 */
export const CLIENT_ADMIN = {
  name: 'client-admin',
  plural: 'client admins',
  flag: 'isAdmin',
  column: 'is_admin',
  role: 'adminOf',
  field: 'admin_of',
  given: 'client.add-admin',
  ended: 'client.remove-admin',
  actions: ['view', 'manage', 'read-audit'],
} as const satisfies ClientRoleTerms;

/** All roles in single clients. */
export const CLIENT_ROLES = [CLIENT_ADMIN] as const;

/** `name`: as in the API; messages contain it with spaces. `plural`: all users with the role. */
type RoleTerms = { name: string; plural: string; actions: readonly Action[] };

/** `flag`: the property of `Membership`, which a suspension ends. */
type ClientRoleTerms = RoleTerms & Record<'flag' | 'column' | 'role' | 'field' | 'given' | 'ended', string>;

type GlobalRole = (typeof GLOBAL_ROLES)[number];
export type ClientRole = (typeof CLIENT_ROLES)[number];

/** The roles of a user; roles in single clients are lists of client ids. */
export type Roles = { readonly [R in GlobalRole['flag']]: boolean } & {
  readonly [R in ClientRole['role']]: readonly number[];
};

/** A user without roles. */
export const MEMBER: Roles = { isSuperuser: false, isStaff: false, adminOf: [] };

/** The fields of the API for the roles in all clients, and for the roles in single clients. */
export const roleFields = <G, C>(inAll: (role: GlobalRole) => G, inSome: (role: ClientRole) => C) =>
  // `fromEntries` loses the names.
  Object.fromEntries([
    ...GLOBAL_ROLES.map((role) => [role.column, inAll(role)]),
    ...CLIENT_ROLES.map((role) => [role.field, inSome(role)]),
  ]) as Record<GlobalRole['column'], G> & Record<ClientRole['field'], C>;

export type RoleFields = ReturnType<typeof roleFields<boolean, readonly number[]>>;

/** The roles according to fields of the API. */
export const rolesOf = (fields: RoleFields): Roles =>
  Object.fromEntries([
    ...GLOBAL_ROLES.map(({ flag, column }) => [flag, fields[column]]),
    ...CLIENT_ROLES.map(({ role, field }) => [role, fields[field]]),
  ]) as Roles;

/** The roles of a service account, from their names: in its client, or without one, in all clients. */
export const namedRoles = (names: readonly string[], clientId: number | null): Roles =>
  Object.fromEntries([
    ...GLOBAL_ROLES.map(({ flag, name }) => [flag, clientId === null && names.includes(name)]),
    ...CLIENT_ROLES.map(({ role, name }) => [
      role,
      clientId !== null && names.includes(name) ? [clientId] : [],
    ]),
  ]) as Roles;

/** The roles in all clients that a user has, strongest first. */
export const globalRolesOf = (user: Roles) => GLOBAL_ROLES.filter(({ flag }) => user[flag]);

/** The roles that open all apps of their clients: the roles with the action `view`. */
export const opensApps = ({ actions }: RoleTerms): boolean => actions.includes('view');

/** A role as messages call it: `client admin`. */
export const labelOf = ({ name }: RoleTerms): string => name.replaceAll('-', ' ');

/** Ids, or all clients. */
type Clients = 'all' | readonly number[];

/**
 * The permissions: in which clients a user has a role, and which actions it allows there. `can` and the SQL conditions in `visibility.ts`
 * are derived from this table.
 */
const PERMISSIONS: { role: RoleTerms; clients: (user: Roles) => Clients }[] = [
  ...CLIENT_ROLES.map((role) => ({ role, clients: (user: Roles) => user[role.role] })),
  ...GLOBAL_ROLES.toReversed().map((role) => ({
    role,
    clients: (user: Roles): Clients => (user[role.flag] ? 'all' : []),
  })),
];

const rolesFor = (actions: readonly Action[]) =>
  PERMISSIONS.filter(({ role }) => actions.some((action) => role.actions.includes(action)));

/** The clients in which the user may do at least one of the actions. */
export const clientsWhere = (user: Roles, ...actions: readonly Action[]): Clients => {
  const found = rolesFor(actions).map(({ clients }) => clients(user));
  return found.includes('all') ? 'all' : found.flatMap((clients) => (clients === 'all' ? [] : clients));
};

/** Whether the user may do this in a client; without a client: in any. */
export const can = (user: Roles, action: Action, clientId?: number): boolean => {
  const clients = clientsWhere(user, action);
  return clients === 'all' || (clientId === undefined ? clients.length > 0 : clients.includes(clientId));
};

/** Whether the user may do everything, in the same clients, that another user (or the same user earlier) may do. */
export const canAllOf = (user: Roles, other: Roles): boolean =>
  PERMISSIONS.every(({ role: { actions }, clients }) => {
    const needed = clients(other);
    return needed === 'all'
      ? actions.every((action) => clientsWhere(user, action) === 'all')
      : needed.every((id) => actions.every((action) => can(user, action, id)));
  });

const LIST = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** The roles that allow one of the actions, for messages: `client admin, staff or superuser`. */
export const rolesThatMay = (...actions: readonly Action[]): string =>
  LIST.format(rolesFor(actions).map(({ role }) => labelOf(role)));
