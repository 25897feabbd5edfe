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
  readonly via: Credential | null;
};

export const seesAll = (actor: Actor): boolean => actor.isSuperuser || actor.isStaff;

/** Client admins, staff and superusers may list; members may not. */
export const mayList = (actor: Actor): boolean => seesAll(actor) || actor.adminOf.length > 0;

/** Staff look and load, but change nothing. */
export const mayChange = (actor: Actor): boolean => actor.isSuperuser || actor.adminOf.length > 0;

export const mayOperate = (actor: Actor): boolean => actor.isSuperuser || actor.isStaff;

/** The client that goes without saying: the one they administer, when it is one. */
export const onlyOffice = (actor: Actor): number | undefined =>
  actor.adminOf.length === 1 ? actor.adminOf[0] : undefined;

export const changesClient = (actor: Actor, clientId: number): boolean =>
  actor.isSuperuser || actor.adminOf.includes(clientId);

/**
 * Requires a role that may change a client, and what belongs to it. Call it only for a client that the caller may see.
 * @throws Problem `not-allowed`
 */
export const requireClientAdmin = (actor: Actor, clientId: number): void => {
  if (!changesClient(actor, clientId)) throw roleRequired(`client admin of client ${clientId}, or superuser`);
};

/** The roles behind each predicate, as an error names them. */
export const LISTING_ROLES = 'client admin, staff or superuser';
export const CHANGING_ROLES = 'client admin or superuser';
export const OPERATING_ROLES = 'staff or superuser';

/** @throws Problem `not-allowed` */
export const requireLister = (actor: Actor): void => {
  if (!mayList(actor)) throw roleRequired(LISTING_ROLES);
};
