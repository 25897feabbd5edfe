import { roleRequired } from '../../lib/problems.ts';

/** The login that a call came with. */
export type Credential = {
  kind: 'token' | 'session';
  id: number;
  /** When the user of a session last entered their password; null for a token. */
  authenticatedAt: Date | null;
};

/** Who is calling, and what they may see and change. Read once for each call. */
export type Actor = {
  readonly id: number;
  readonly email: string;
  readonly isSuperuser: boolean;
  readonly isStaff: boolean;
  /** Ids of the clients they administer. */
  readonly adminOf: readonly number[];
  /** Null when the operator acts in a user's name. */
  readonly credential: Credential | null;
};

export const canViewAll = (actor: Actor): boolean => actor.isSuperuser || actor.isStaff;

/** Client admins, staff and superusers may list; members may not. */
export const canList = (actor: Actor): boolean => canViewAll(actor) || actor.adminOf.length > 0;

/** Staff look and load, but change nothing. */
export const canManage = (actor: Actor): boolean => actor.isSuperuser || actor.adminOf.length > 0;

export const canOperate = (actor: Actor): boolean => actor.isSuperuser || actor.isStaff;

/** The client that goes without saying: the one they administer, when it is one. */
export const soleAdminClient = (actor: Actor): number | undefined =>
  actor.adminOf.length === 1 ? actor.adminOf[0] : undefined;

export const administersClient = (actor: Actor, clientId: number): boolean =>
  actor.isSuperuser || actor.adminOf.includes(clientId);

/**
 * Requires a role that may change a client, and what belongs to it. Call it only for a client that the caller may see.
 * @throws Problem `forbidden`
 */
export const requireClientAdmin = (actor: Actor, clientId: number): void => {
  if (!administersClient(actor, clientId))
    throw roleRequired(`client admin of client ${clientId}, or superuser`);
};

/** The roles behind each predicate, as an error names them. */
export const LISTING_ROLES = 'client admin, staff or superuser';
export const CHANGING_ROLES = 'client admin or superuser';
export const OPERATING_ROLES = 'staff or superuser';

/** @throws Problem `forbidden` */
export const requireLister = (actor: Actor): void => {
  if (!canList(actor)) throw roleRequired(LISTING_ROLES);
};
