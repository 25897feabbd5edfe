/** Roles in single clients, and the column of `memberships` that grants each. */
export const CLIENT_ROLES = [{ role: 'adminOf', flag: 'is_admin' }] as const;

export type ClientRole = (typeof CLIENT_ROLES)[number];

/** The roles of a user; those in single clients with the ids of the clients. */
export type Roles = { readonly isSuperuser: boolean; readonly isStaff: boolean } & {
  readonly [R in ClientRole['role']]: readonly number[];
};

/** Members have no role. */
export const MEMBER: Roles = { isSuperuser: false, isStaff: false, adminOf: [] };

/** What users do beyond their own account, apps and saved filters. */
export type Action =
  /** Sees users, invitations, clients, apps, usage and mails. */
  | 'view'
  /** Changes these, and sees what only those who change them may see. */
  | 'manage'
  /** Fetches and loads apps. */
  | 'operate'
  | 'read-audit'
  /** Reads the entries of the audit trail on which platforms act, such as cleared caches. */
  | 'poll-events'
  /** Changes what concerns all clients, such as roles. */
  | 'administer';

/** Ids, or all clients. */
type Clients = 'all' | readonly number[];

const EVERYWHERE = (isSo: boolean): Clients => (isSo ? 'all' : []);

/**
 * The permissions: in which clients a user has a role, and what it allows there. `can` and the SQL conditions in `visibility.ts` derive
 * from this table.
 */
const PERMISSIONS: Record<string, { clients: (user: Roles) => Clients; actions: readonly Action[] }> = {
  'client admin': { clients: ({ adminOf }) => adminOf, actions: ['view', 'manage', 'read-audit'] },
  staff: { clients: ({ isStaff }) => EVERYWHERE(isStaff), actions: ['view', 'operate', 'poll-events'] },
  superuser: {
    clients: ({ isSuperuser }) => EVERYWHERE(isSuperuser),
    actions: ['view', 'manage', 'operate', 'read-audit', 'poll-events', 'administer'],
  },
};

const rolesFor = (actions: readonly Action[]) =>
  Object.entries(PERMISSIONS).filter(([, role]) => actions.some((action) => role.actions.includes(action)));

/** The clients in which the user may do at least one of the actions. */
export const clientsWhere = (user: Roles, ...actions: readonly Action[]): Clients => {
  const found = rolesFor(actions).map(([, { clients }]) => clients(user));
  return found.includes('all') ? 'all' : found.flatMap((clients) => (clients === 'all' ? [] : clients));
};

/** Whether the user may do this in a client, or without one: somewhere. */
export const can = (user: Roles, action: Action, clientId?: number): boolean => {
  const clients = clientsWhere(user, action);
  return clients === 'all' || (clientId === undefined ? clients.length > 0 : clients.includes(clientId));
};

/** Whether the user may do everywhere what another, or the same user earlier, could do. */
export const canAllOf = (user: Roles, other: Roles): boolean =>
  Object.values(PERMISSIONS).every(({ actions, clients }) => {
    const needed = clients(other);
    return needed === 'all'
      ? actions.every((action) => clientsWhere(user, action) === 'all')
      : needed.every((id) => actions.every((action) => can(user, action, id)));
  });

const LIST = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** The roles that allow one of the actions, for messages: `client admin, staff or superuser`. */
export const rolesThatMay = (...actions: readonly Action[]): string =>
  LIST.format(rolesFor(actions).map(([name]) => name));
