import { MINUTE_MS } from '../../lib/clock.ts';
import { isPseudonym, isServiceAddress } from '../../lib/email-address.ts';
import { Problem, roleRequired } from '../../lib/problems.ts';
import type { SessionProof } from './auth-methods.ts';
import {
  type Action,
  adminOf,
  CLIENT_ADMIN,
  can,
  canAllOf,
  clientsWhere,
  clientsWithRole,
  MEMBER,
  type Roles,
  rolesIn,
  rolesThatMay,
} from './permissions.ts';
import { EVERYWHERE, type Scope } from './scope.ts';

/** The token or session that authenticates a call. */
export type Credential =
  | {
      kind: 'token';
      id: number;
      /** When its user last entered a password or a code for this token. Null for a named token that was not confirmed. */
      authenticatedAt: Date | null;
    }
  | {
      kind: 'session';
      id: number;
      /** When the user last entered a password or a code; 1970 if it must be entered again. */
      authenticatedAt: Date;
      proof: SessionProof;
    };

/** The authenticated caller, and the roles that count in the scope of the credential, read once per call. */
export type Actor = Roles & {
  readonly id: number;
  readonly email: string;
  /** Null when the operator acts as a user from the command line. */
  readonly credential: Credential | null;
  readonly scope: Scope;
};

/**
 * The service itself, with the role of an admin of this client, or of a superuser. No user has the id 0. Receivers of events see what this
 * actor may see. For its actions, the audit trail records no actor.
 */
export const serviceActor = (clientId: number | null): Actor => ({
  ...(clientId === null ? { ...MEMBER, isSuperuser: true } : adminOf(clientId)),
  id: 0,
  email: '',
  credential: null,
  scope: clientId === null ? EVERYWHERE : { ...EVERYWHERE, only: clientId },
});

/** The actor, or null if the credential is limited to a client or to actions: the account is outside of its scope. */
export const unconfined = (actor: Actor | null): Actor | null =>
  actor?.scope.only === null && actor.scope.actions === null ? actor : null;

const NO_ACCOUNT = {
  detail:
    'This concerns the account of a person, which a service account does not have, or more than its client.',
};

/**
 * Refuses a confined credential access to the account of its person, and to data of all clients.
 * @throws Problem `confined-session`
 */
export const requireUnconfined = ({ scope, email }: Actor): void => {
  if (scope.only !== null) throw new Problem('confined-session', isServiceAddress(email) ? NO_ACCOUNT : {});
};

/**
 * Refuses what only people have: an account.
 * @throws Problem `confined-session`
 */
export const requirePerson = ({ email }: Pick<Actor, 'email'>): void => {
  if (isServiceAddress(email)) throw new Problem('confined-session', NO_ACCOUNT);
};

/**
 * Requires a person whose credential counts for the whole account.
 * @throws Problem `confined-session`
 */
export const requireAccount = (actor: Actor): void => {
  requirePerson(actor);
  requireUnconfined(actor);
};

/** What the login of a request has proven. A token proves nothing: its holder may not be its user. */
export const proofOf = ({ credential }: Pick<Actor, 'credential'>): SessionProof | null =>
  credential?.kind === 'session' ? credential.proof : null;

export const canViewAll = (user: Roles): boolean => clientsWhere(user, 'view') === 'all';

/** Whether the user sees the values of accounts. People with a role in single clients see the values of memberships there instead. */
export const seesAccounts = (user: Roles): boolean => {
  const clients = clientsWhere(user, canViewAll(user) ? 'manage-people' : 'view');
  return clients === 'all' || clients.length === 0;
};

/** The client in which a role of the actor allows this, if there is exactly one. Roles in all clients do not count. */
export const soleClient = ({ inClients }: Roles, action: Action): number | undefined => {
  const clients = clientsWhere({ ...MEMBER, inClients }, action);
  return clients.length === 1 ? Number(clients[0]) : undefined;
};

/**
 * Requires a role that allows the action in a client. Call it only for a client that the actor may see.
 * @throws Problem `forbidden`
 */
export const requireIn = (actor: Actor, action: Action, clientId: number): void => {
  if (!can(actor, action, clientId)) throw roleRequired(`${rolesThatMay(action)}, in client ${clientId}`);
};

/** @throws Problem `forbidden` */
export const requireLister = (actor: Actor): void => {
  if (!can(actor, 'view')) throw roleRequired(rolesThatMay('view'));
};

/** A user to change: the roles, all clients that the user belongs to, and `User.wasShared`. */
export type TargetRoles = Roles & { id: number; email: string; clientIds: number[]; wasShared: boolean };

/** Whether the actor must not change the account or see its logins, because it was shared: only the person and superusers may. */
export const isSharedUser = (
  actor: Actor,
  { id, wasShared }: Pick<TargetRoles, 'id' | 'wasShared'>,
): boolean => wasShared && id !== actor.id && !can(actor, 'administer');

const ERASED = { detail: 'This person has been erased: the account stays without access and data.' };

const SERVICE_ACCOUNT = { detail: 'This is a service account: change it at /api/v1/jb/service-accounts/.' };

const OWN_ACCESS = { detail: 'Someone else must change your apps and what they receive.' };

const MORE_RIGHTS = { detail: 'This person may do more than you in a client that you share.' };

/**
 * Why the actor may do none of the actions to this user. No actor has authority over an erased person, or over a person with more rights.
 * The message names no role of the user, because the actor may not know it.
 */
const strangerRefusal = (actor: Actor, user: TargetRoles, ...actions: readonly Action[]): Problem | null => {
  if (isPseudonym(user.email)) return new Problem('forbidden', ERASED);
  if (isServiceAddress(user.email)) return new Problem('forbidden', SERVICE_ACCOUNT);
  if (can(actor, 'administer')) return null;
  if (user.isSuperuser || user.isStaff) return roleRequired(rolesThatMay('administer'));
  const clients = user.clientIds.filter((id) => actions.some((action) => can(actor, action, id)));
  if (clients.length === 0) return roleRequired(`${rolesThatMay(...actions)}, in a client of this user`);
  const rights = rolesIn(user, (id) => clients.includes(id));
  return canAllOf(actor, rights) ? null : new Problem('forbidden', MORE_RIGHTS);
};

const withoutShared = (actor: Actor, user: TargetRoles, action: Action): Problem | null => {
  // The own account belongs to no client.
  if (user.id === actor.id && actor.scope.only !== null) return new Problem('confined-session');
  return (
    strangerRefusal(actor, user, action) ?? (isSharedUser(actor, user) ? new Problem('shared-user') : null)
  );
};

/** Why the actor may not end the access of this user (for a shared user: to the actor's clients); null if they may. */
export const accessRefusal = (actor: Actor, user: TargetRoles): Problem | null =>
  strangerRefusal(actor, user, 'manage-people');

/**
 * Why the actor may not reset the credentials of this user or see its logins, for example because other clients share it. Null if they may.
 */
export const userAdminRefusal = (actor: Actor, user: TargetRoles): Problem | null =>
  withoutShared(actor, user, 'manage-credentials');

/** Why the actor may not change the account of this user, including its address; null if they may. */
export const accountUpdateRefusal = (actor: Actor, user: TargetRoles): Problem | null =>
  withoutShared(actor, user, 'manage-people') ?? clientAdminRefusal(actor, user);

/** Why the actor may not change this user, or grant and revoke apps, in the actor's clients; null if they may. */
export const userUpdateRefusal = (actor: Actor, user: TargetRoles): Problem | null =>
  (user.id === actor.id && actor.scope.only !== null ? new Problem('confined-session') : null) ??
  strangerRefusal(actor, user, 'manage-people', 'manage-grants') ??
  clientAdminRefusal(actor, user) ??
  (user.id === actor.id && !can(actor, 'administer') ? new Problem('forbidden', OWN_ACCESS) : null);

/** Ignores roles in clients that the actor does not see: a refusal would reveal them. */
const clientAdminRefusal = (actor: Actor, user: TargetRoles): Problem | null =>
  clientsWithRole(user, CLIENT_ADMIN).some((id) => can(actor, 'view', id))
    ? new Problem('client-admin-locked')
    : null;

/** Returns a function that throws the refusal, if any. */
export const requirementOf =
  (refusalOf: (actor: Actor, user: TargetRoles) => Problem | null) =>
  (actor: Actor, user: TargetRoles): void => {
    const refusal = refusalOf(actor, user);
    if (refusal) throw refusal;
  };

/**
 * Requires that the actor may end the access of this user (for a shared user: the access to the actor's clients).
 * @throws Problem `forbidden`
 */
export const requireAccessAdmin = requirementOf(accessRefusal);

/**
 * Requires that the actor may end logins of this user in the actor's clients, also if other clients share the account.
 * @throws Problem `forbidden`
 */
export const requireLoginAdmin = requirementOf((actor, user) =>
  strangerRefusal(actor, user, 'manage-credentials'),
);

/** @throws Problem `forbidden`, `shared-user` */
export const requireUserAdmin = requirementOf(userAdminRefusal);

/**
 * Requires that the actor may update this user at all (a shared user: only the apps and memberships of the actor's clients).
 * @throws Problem `forbidden`, `client-admin-locked`
 */
export const requireUserUpdatable = requirementOf(userUpdateRefusal);

/** Why the actor may not give this user roles in the actor's clients; null if they may. */
export const roleAdminRefusal = (actor: Actor, user: TargetRoles): Problem | null =>
  strangerRefusal(actor, user, 'configure');

/** @throws Problem `forbidden` */
export const requireRoleAdmin = requirementOf(roleAdminRefusal);

const MAX_CONFIRMATION_AGE_MS = 15 * MINUTE_MS;

const isRecent = (at: Date | null, now: Date): boolean =>
  at !== null && now.getTime() - at.getTime() <= MAX_CONFIRMATION_AGE_MS;

/**
 * Requires a recently entered password or code of a second factor, for actions whose effect outlasts a stolen or unattended browser
 * session, such as creating a token. API tokens are exempt: their callers have no password to enter.
 * @throws Problem `reauthentication-required`
 */
export const requireConfirmedSession = ({ credential }: Actor, now: Date): void => {
  if (credential?.kind === 'session' && !isRecent(credential.authenticatedAt, now))
    throw new Problem('reauthentication-required');
};

/**
 * Like `requireConfirmedSession`, but tokens are not exempt: a token that was stolen, perhaps before the user set up a second factor, must
 * not be able to remove the factor.
 * @throws Problem `reauthentication-required`
 */
export const requireConfirmedCredential = (
  credential: { authenticatedAt: Date | null } | null,
  now: Date,
): void => {
  if (credential && !isRecent(credential.authenticatedAt, now))
    throw new Problem('reauthentication-required');
};
