import { LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { User } from '../../../entities/user.ts';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { type Db, tables } from '../../db/kysely.ts';
import { findJsonProblem } from '../../lib/json-value.ts';
import { Problem } from '../../lib/problems.ts';
import { setPassword } from '../auth/credentials.ts';
import { grantApps, joinClients } from '../users/app-grants.ts';
import { addUser } from '../users/new-user.ts';
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

/** Adds the invited access to an existing user, and the invited data to one whom client admins may change. */
export const extendInvitee = async (tx: Db, invitation: InvitationByLink, userId: number) => {
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const user = await tx.findOne(User, { id: userId, isActive: true }, { lockMode });
  if (!user) throw new Problem('account-inactive');
  if (!(await hasRole(tx, user))) {
    const extra = { ...user.extra, ...invitation.extra };
    // The merged data may exceed the limit; then the user's data stays unchanged.
    if (findJsonProblem(extra) === null) user.extra = extra;
    user.isDemoUser ||= invitation.is_demo_user;
    await tx.flush();
  }
  await joinInvited(tx, invitation, userId);
};

const hasRole = async (tx: Db, { id, isSuperuser, isStaff }: User): Promise<boolean> => {
  const roles = tables(tx).selectFrom('memberships').where('user_id', '=', id).where('is_admin', '=', true);
  return isSuperuser || isStaff || (await roles.select('client_id').executeTakeFirst()) !== undefined;
};

const joinInvited = async (tx: Db, { id, client_id }: InvitationByLink, userId: number) => {
  await joinClients(tx, userId, new Set([client_id]));
  const apps = await tables(tx)
    .selectFrom('invitation_apps')
    .innerJoin('apps', 'apps.id', 'invitation_apps.app_id')
    .select(['apps.id', 'apps.client_id'])
    .where('invitation_id', '=', id)
    .execute();
  await grantApps(tx, userId, apps);
};
