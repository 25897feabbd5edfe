import {
  type Action,
  CLIENT_ROLES,
  type ClientRole,
  can,
  clientsWhere,
  GLOBAL_ROLES,
  labelOf,
  type RoleFields,
  roleFields,
  rolesOf,
} from '../../../src/services/access/permissions.ts';

export { CLIENT_ROLES, labelOf as roleLabel };

/** The roles of a user, as in the session. */
export type Roles = RoleFields;

const mayDo = (action: Action) => (roles: Roles) => can(rolesOf(roles), action);

/** Who may see lists of people. */
export const canView = mayDo('view');

/** Whether the user sees all clients and people. */
export const canViewAll = (roles: Roles): boolean => clientsWhere(rolesOf(roles), 'view') === 'all';

/** Who may change people, apps and clients. */
export const canAdminister = mayDo('manage');

/** Whether the user may change data of a client. */
export const administers = (roles: Roles, client: number): boolean => can(rolesOf(roles), 'manage', client);

export const canReadAudit = mayDo('read-audit');

/** Who may listen to events. */
export const canHearEvents = (roles: Roles): boolean =>
  canReadAudit(roles) || can(rolesOf(roles), 'poll-events');

/** Who may fetch and load app packages. */
export const canOperate = mayDo('operate');

/** Whether the user may change data of all clients. */
export const isSuperuser = mayDo('administer');

/** Strongest first. */
export const ROLES = [...GLOBAL_ROLES, ...CLIENT_ROLES];

/** The roles of a user with only this role, or with none. */
const holderOf = (held?: (typeof ROLES)[number]): Roles =>
  roleFields(
    (role) => role === held,
    (role) => (role === held ? [1] : []),
  );

/** The kinds of users, from the fewest rights to all. */
export const KINDS = new Map([
  ['members', holderOf()],
  ...ROLES.toReversed().map((role) => [role.plural, holderOf(role)] as const),
]);

/** The roles that a membership gives in its client. */
export const membershipRoles = (membership: Record<ClientRole['column'], boolean>) =>
  CLIENT_ROLES.filter(({ column }) => membership[column]);
