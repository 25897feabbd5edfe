import {
  type Action,
  CLIENT_ADMIN,
  CLIENT_ROLES,
  can,
  canAllOf,
  clientsWhere,
  DELEGATED_ROLES,
  GLOBAL_ROLES,
  labelOf,
  MEMBER,
  namedRoles,
  personWith,
  type RoleFields,
  roleFieldsOf,
  rolesOf,
} from '../../../src/services/access/permissions.ts';

export {
  type Action,
  CLIENT_ADMIN,
  CLIENT_ROLES,
  DELEGATED_ROLES,
  GLOBAL_ROLES,
  labelOf as roleLabel,
  personWith,
};

/** The roles of a user, as in the session. */
export type Roles = RoleFields;

/** Whether the user may do this, in this client or in any. */
export const mayDo = (roles: Roles, action: Action, client?: number): boolean =>
  can(rolesOf(roles), action, client);

export const whoMay = (action: Action) => (roles: Roles) => mayDo(roles, action);

/** Who may see lists of people. */
export const canView = whoMay('view');

/** Whether the user sees all clients and people. */
export const canViewAll = (roles: Roles): boolean => clientsWhere(rolesOf(roles), 'view') === 'all';

export const canReadAudit = whoMay('read-audit');

/** Who may listen to events. */
export const canHearEvents = (roles: Roles): boolean => canReadAudit(roles) || mayDo(roles, 'poll-events');

/** Who may fetch and load app packages. */
export const canOperate = whoMay('operate');

/** Who may see share links. */
export const canViewLinks = (roles: Roles): boolean => mayDo(roles, 'manage-apps') || canOperate(roles);

/** Whether the user may change data of all clients. */
export const isSuperuser = whoMay('administer');

/** Strongest first. */
export const ROLES = [...GLOBAL_ROLES, ...CLIENT_ROLES];
export type Role = (typeof ROLES)[number];

/** Whether the user may do all that the role allows in a client, or for null, in the installation. */
export const mayDoAllOf = (roles: Roles, { name }: Role, client: number | null): boolean =>
  canAllOf(rolesOf(roles), namedRoles([name], client));

/** Why the user cannot give or end a role in a client; null if they can. */
export const refusalOf = (own: Roles, role: Role, client: number): string | null => {
  if (role.name === CLIENT_ADMIN && !isSuperuser(own)) return 'Only superusers can give and remove it.';
  return mayDoAllOf(own, role, client) && mayDo(own, 'configure', client)
    ? null
    : 'It allows more than your own roles.';
};

/** The only client that the user sees; undefined if there are several, or none. */
export const soleClientOf = (roles: Roles): number | undefined => {
  const clients = clientsWhere(rolesOf(roles), 'view');
  return clients !== 'all' && clients.length === 1 ? clients[0] : undefined;
};

/** The kinds of users, from the fewest rights to all. */
export const KINDS = new Map<string, Roles>([
  ['members', roleFieldsOf(MEMBER)],
  ...CLIENT_ROLES.toReversed().map(
    ({ name, plural }) => [plural, roleFieldsOf(namedRoles([name], 1))] as const,
  ),
  ...GLOBAL_ROLES.toReversed().map(
    ({ name, plural }) => [plural, roleFieldsOf(namedRoles([name], null))] as const,
  ),
]);

/** The roles that a membership gives in its client. */
export const membershipRoles = ({ is_admin, roles }: { is_admin: boolean; roles: readonly string[] }) =>
  CLIENT_ROLES.filter(({ name }) => (name === CLIENT_ADMIN ? is_admin : roles.includes(name)));
