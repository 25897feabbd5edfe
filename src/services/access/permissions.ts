/** Actions of users beyond their own account, apps and saved filters. */
export type Action =
  /** Sees users, invitations, clients, apps, usage and mails. */
  | 'view'
  /** Opens all apps of the client. */
  | 'open-apps'
  /** Creates, changes and ends accounts, memberships, groups and invitations. */
  | 'manage-people'
  /** Grants and revokes apps, and decides about requests for them. */
  | 'manage-grants'
  /** Resets passwords and second factors, ends logins, and sends mails again. */
  | 'manage-credentials'
  /** Changes apps, their packages and share links. */
  | 'manage-apps'
  /** Changes settings, sign-in, webhooks, service accounts and delegated roles. */
  | 'configure'
  /** Fetches and loads apps. */
  | 'operate'
  | 'read-audit'
  /** Reads the entries of the audit trail that platforms react to, such as cleared caches. */
  | 'poll-events'
  /** Changes data of all clients, such as roles. */
  | 'administer';

/** All actions in a single client. */
const ALL_IN_CLIENT = [
  ...(['view', 'open-apps', 'manage-people', 'manage-grants', 'manage-credentials'] as const),
  ...(['manage-apps', 'configure', 'read-audit'] as const),
] as const satisfies Action[];

/** Roles in all clients, the strongest first. `flag`: the property of `User` that grants it, and its column. */
export const GLOBAL_ROLES = [
  {
    name: 'superuser',
    plural: 'superusers',
    flag: 'isSuperuser',
    column: 'is_superuser',
    actions: [...ALL_IN_CLIENT, 'operate', 'poll-events', 'administer'],
  },
  {
    name: 'staff',
    plural: 'staff',
    flag: 'isStaff',
    column: 'is_staff',
    actions: ['view', 'open-apps', 'operate', 'poll-events'],
  },
] as const satisfies readonly (RoleTerms & Record<'flag' | 'column', string>)[];

/** The role in a single client that only superusers give. `Membership.isAdmin` stores it. */
export const CLIENT_ADMIN = 'client-admin';

/** Roles in single clients that its admins give. `Membership.roles` stores their names. `person`: who has the role. */
export const DELEGATED_ROLES = [
  {
    name: 'people-manager',
    plural: 'people managers',
    person: 'a people manager',
    actions: ['view', 'manage-people', 'manage-grants', 'manage-credentials', 'read-audit'],
  },
  {
    name: 'app-manager',
    plural: 'app managers',
    person: 'an app manager',
    actions: ['view', 'manage-grants', 'manage-apps', 'read-audit'],
  },
  {
    name: 'help-desk',
    plural: 'help desks',
    person: 'a member of the help desk',
    actions: ['view', 'manage-credentials'],
  },
  { name: 'auditor', plural: 'auditors', person: 'an auditor', actions: ['view', 'read-audit'] },
] as const satisfies readonly ClientRoleTerms[];

/** All roles in single clients, the strongest first. */
export const CLIENT_ROLES = [
  { name: CLIENT_ADMIN, plural: 'client admins', person: 'an admin', actions: ALL_IN_CLIENT },
  ...DELEGATED_ROLES,
] as const satisfies readonly ClientRoleTerms[];

export type ClientRoleName = ClientRole['name'];
export const CLIENT_ROLE_NAMES = CLIENT_ROLES.map(({ name }) => name);

/** `name`: as in the API; messages contain it with spaces. `plural`: all users with the role. */
type RoleTerms = { name: string; plural: string; actions: readonly Action[] };
type ClientRoleTerms = RoleTerms & { person: string };

type GlobalRole = (typeof GLOBAL_ROLES)[number];
export type ClientRole = (typeof CLIENT_ROLES)[number];

/** The roles of a user: in all clients, and by the id of a client, the names of the roles there. */
export type Roles = { readonly [R in GlobalRole['flag']]: boolean } & {
  readonly inClients: Readonly<Record<number, readonly string[]>>;
};

/** A user without roles. */
export const MEMBER: Roles = { isSuperuser: false, isStaff: false, inClients: {} };

export const adminOf = (...clientIds: readonly number[]): Roles => ({
  ...MEMBER,
  inClients: Object.fromEntries(clientIds.map((id) => [id, [CLIENT_ADMIN]])),
});

/** Only the roles in clients of which this is true. */
export const rolesIn = ({ inClients }: Roles, isKept: (clientId: number) => boolean): Roles => ({
  ...MEMBER,
  inClients: Object.fromEntries(Object.entries(inClients).filter(([id]) => isKept(Number(id)))),
});

/** The roles as fields of the API: `admin_of` lists ids of clients; `client_roles` has, by the id of a client, the delegated roles. */
export type RoleFields = Record<GlobalRole['column'], boolean> & {
  admin_of: readonly number[];
  client_roles: Readonly<Record<string, readonly string[]>>;
};

export const roleFieldsOf = (roles: Roles): RoleFields => {
  const delegated = Object.entries(roles.inClients).map(
    ([id, names]) => [id, names.filter((name) => name !== CLIENT_ADMIN)] as const,
  );
  return {
    is_superuser: roles.isSuperuser,
    is_staff: roles.isStaff,
    admin_of: clientsWithRole(roles, CLIENT_ADMIN),
    client_roles: Object.fromEntries(delegated.filter(([, names]) => names.length > 0)),
  };
};

export const rolesOf = ({ is_superuser, is_staff, admin_of, client_roles }: RoleFields): Roles => {
  const ids = new Set([...admin_of, ...Object.keys(client_roles).map(Number)]);
  return {
    isSuperuser: is_superuser,
    isStaff: is_staff,
    inClients: Object.fromEntries(
      [...ids].map((id) => [
        id,
        [...(admin_of.includes(id) ? [CLIENT_ADMIN] : []), ...(client_roles[id] ?? [])],
      ]),
    ),
  };
};

/** The roles of a service account, from their names: in its client, or without one, in all clients. */
export const namedRoles = (names: readonly string[], clientId: number | null): Roles =>
  clientId === null
    ? { isSuperuser: names.includes('superuser'), isStaff: names.includes('staff'), inClients: {} }
    : { ...MEMBER, inClients: { [clientId]: names } };

/** The ids of the clients in which a user has this role. */
export const clientsWithRole = ({ inClients }: Roles, role: string): number[] =>
  Object.keys(inClients)
    .map(Number)
    .filter((id) => inClients[id]?.includes(role));

/** The roles in all clients that a user has, strongest first. */
export const globalRolesOf = (user: Roles) => GLOBAL_ROLES.filter(({ flag }) => user[flag]);

/** The roles that open all apps of their clients. */
export const opensApps = ({ actions }: RoleTerms): boolean => actions.includes('open-apps');

/** A role as messages call it: `client admin`. */
export const labelOf = ({ name }: RoleTerms): string => name.replaceAll('-', ' ');

/** Ids, or all clients. */
type Clients = 'all' | readonly number[];

const IN_CLIENT = new Map<string, readonly Action[]>(
  CLIENT_ROLES.map(({ name, actions }) => [name, actions]),
);

const isAllowedBy = (names: readonly string[] | undefined, action: Action): boolean =>
  names?.some((name) => IN_CLIENT.get(name)?.includes(action)) === true;

const isAllowedEverywhere = (user: Roles, action: Action): boolean =>
  GLOBAL_ROLES.some(({ flag, actions }) => user[flag] && (actions as readonly Action[]).includes(action));

/** The clients in which the user may do at least one of the actions. */
export const clientsWhere = (user: Roles, ...actions: readonly Action[]): Clients =>
  actions.some((action) => isAllowedEverywhere(user, action))
    ? 'all'
    : Object.keys(user.inClients)
        .map(Number)
        .filter((id) => actions.some((action) => isAllowedBy(user.inClients[id], action)));

/** Whether the user may do this in a client; without a client: in any. */
export const can = (user: Roles, action: Action, clientId?: number): boolean =>
  isAllowedEverywhere(user, action) ||
  (clientId === undefined
    ? Object.values(user.inClients).some((names) => isAllowedBy(names, action))
    : isAllowedBy(user.inClients[clientId], action));

/** Whether the user may do everything, in the same clients, that another user (or the same user earlier) may do. */
export const canAllOf = (user: Roles, other: Roles): boolean =>
  GLOBAL_ROLES.every(
    ({ flag, actions }) => !other[flag] || actions.every((action) => isAllowedEverywhere(user, action)),
  ) &&
  Object.entries(other.inClients).every(([id, names]) =>
    names.every((name) => IN_CLIENT.get(name)?.every((action) => can(user, action, Number(id)))),
  );

/** Whether the user may give and end roles with these names in a client. Only superusers make admins. */
export const mayGiveRoles = (user: Roles, names: readonly string[], clientId: number): boolean =>
  can(user, names.includes(CLIENT_ADMIN) ? 'administer' : 'configure', clientId) &&
  canAllOf(user, namedRoles(names, clientId));

/** The names of the roles in a client that allow nothing which roles with these names do not allow. */
export const rolesWithin = (names: readonly string[]): string[] =>
  CLIENT_ROLES.flatMap(({ name, actions }) =>
    actions.every((action) => isAllowedBy(names, action)) ? name : [],
  );

const LIST = new Intl.ListFormat('en-GB', { type: 'disjunction' });

const ALL_OF = new Intl.ListFormat('en-GB');

/** Who has these roles in a client: `an admin and an auditor`; empty without roles. */
export const personWith = (names: readonly string[]): string =>
  ALL_OF.format(CLIENT_ROLES.flatMap(({ name, person }) => (names.includes(name) ? person : [])));

/** The roles that allow one of the actions, for messages: `client admin, people manager or superuser`. */
export const rolesThatMay = (...actions: readonly Action[]): string =>
  LIST.format(
    [...CLIENT_ROLES, ...GLOBAL_ROLES.toReversed()]
      .filter((role) => actions.some((action) => (role.actions as readonly Action[]).includes(action)))
      .map(labelOf),
  );
