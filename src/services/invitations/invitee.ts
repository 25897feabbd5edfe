import { LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { User } from '../../../entities/user.ts';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { type Db, tables } from '../../db/kysely.ts';
import { findJsonProblem } from '../../lib/json-value.ts';
import { Problem } from '../../lib/problems.ts';
import type { Changes } from '../audit/audit.ts';
import { setPassword } from '../auth/credentials.ts';
import { supersedeOperations } from '../operations/operation-log.ts';
import { joinNotices } from '../passwords/password-expiry.ts';
import { grantApps, joinClients } from '../users/app-grants.ts';
import { addUser } from '../users/user-creation.ts';
import type { InvitationByLink } from './invitation-rows.ts';

type NewInvitee = { firstName: string; lastName: string; hash: string; now: Date };

/**
 * Creates the invited user, with a login at `now`.
 * @throws Problem `login-required` if another invitation of this address was accepted concurrently
 */
export const createInvitee = async (tx: Db, invitation: InvitationByLink, input: NewInvitee) => {
  const { firstName, lastName, hash, now } = input;
  const { email, extra, is_demo_user: isDemoUser } = invitation;
  await sql`select pg_advisory_xact_lock(hashtextextended(${`invitee ${email}`}, 0))`.execute(tables(tx));
  if ((await tx.count(User, { email })) > 0) throw new Problem('login-required');

  const user = await addUser(tx, { email, firstName, lastName, extra, isDemoUser }, now);
  user.lastLogin = now;
  await tx.flush().catch(rethrowAsLoginRequired);
  await setPassword(tx, { userId: user.id, hash, now });
  await joinInvited(tx, invitation, user.id);
  return user;
};

/** An admin created a user with this address concurrently. */
const rethrowAsLoginRequired = (error: unknown): never => {
  if (problemOfDatabaseError(error)?.fields?.email) throw new Problem('login-required', { cause: error });
  throw error;
};

/**
 * Adds the invited access to an existing user. The invited data is only for those whose data the inviting client may change: people
 * without a role who belong to no other client.
 * @returns what changed of the user's data, and all clients of the user
 */
export const extendInvitee = async (tx: Db, invitation: InvitationByLink, userId: number, now: Date) => {
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const user = await tx.findOne(User, { id: userId, isActive: true }, { lockMode });
  if (!user) throw new Problem('account-inactive');
  const memberships = await tables(tx)
    .selectFrom('memberships')
    .select(['client_id', 'is_admin'])
    .where('user_id', '=', userId)
    .execute();
  const hasRole = user.isSuperuser || user.isStaff || memberships.some(({ is_admin }) => is_admin);
  const isShared = memberships.some(({ client_id }) => client_id !== invitation.client_id);
  const details = hasRole || isShared ? {} : await applyInvited(tx, user, invitation);
  await joinInvited(tx, invitation, userId);
  const isMember = memberships.some(({ client_id }) => client_id === invitation.client_id);
  for (const notice of joinNotices(tx, [userId], isMember ? [] : [invitation.client_id], now))
    await tables(tx).executeQuery(notice);
  return {
    details,
    clients: [...new Set([...memberships.map((row) => row.client_id), invitation.client_id])],
  };
};

/** Returns the changed columns, without values: they may be sensitive. */
const applyInvited = async (tx: Db, user: User, invitation: InvitationByLink): Promise<Changes> => {
  const changes: Changes = {};
  const extra = { ...user.extra, ...invitation.extra };
  // The merged data may exceed the limit; then the user's data stays unchanged.
  if (findJsonProblem(extra) === null && JSON.stringify(extra) !== JSON.stringify(user.extra)) {
    user.extra = extra;
    changes.extra = { from: null, to: null };
  }
  if (invitation.is_demo_user && !user.isDemoUser) {
    user.isDemoUser = true;
    changes.is_demo_user = { from: false, to: true };
  }
  await tx.flush();
  return changes;
};

/** The user is new or locked. */
const joinInvited = async (tx: Db, { id, client_id }: InvitationByLink, userId: number) => {
  await joinClients(tx, userId, new Set([client_id]));
  const apps = await tables(tx)
    .selectFrom('invitation_apps')
    .innerJoin('apps', 'apps.id', 'invitation_apps.app_id')
    .select(['apps.id', 'apps.client_id'])
    .where('invitation_id', '=', id)
    .execute();
  await grantApps(tx, userId, apps);
  const clients = [client_id, ...apps.map((app) => app.client_id)];
  await supersedeOperations(tx, [{ userId, apps: apps.map((app) => app.id), clients }]);
};
