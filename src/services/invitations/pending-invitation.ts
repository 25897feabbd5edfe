import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, administersClient, requireClientAdmin } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { hasStatus } from './invitation-rows.ts';

export type InvitationChanges = {
  extra?: Record<string, unknown> | undefined;
  initial_apps?: string[] | undefined;
};
type PendingQuery = { email: string; client: number | undefined; now: Date };
type PendingInvitation = { id: number; client_id: number };

/**
 * Changes and returns the pending invitation of an address.
 * @throws Problem `not-found`, `forbidden`, `ambiguous-invitation`, `invalid-input` on `initial_apps`
 */
export const updatePending = async (
  tx: SqlEntityManager,
  actor: Actor,
  sought: PendingQuery,
  changes: InvitationChanges,
): Promise<PendingInvitation> => {
  const found = await lockPending(tx, actor, sought);
  if (changes.initial_apps) await replaceInitialApps(tx, found, changes.initial_apps);
  if (changes.extra) {
    await tables(tx)
      .updateTable('invitations')
      .set({ extra: sql`${JSON.stringify(changes.extra)}::json` })
      .where('id', '=', found.id)
      .execute();
  }
  return found;
};

/**
 * Finds the pending invitation of an address. Among several that the actor manages, prefers the newest that the actor
 * created; several by others are ambiguous. Falls back to invitations that are visible but not managed.
 * @throws Problem `not-found`, `ambiguous-invitation`
 */
export const findPending = async (
  em: SqlEntityManager,
  actor: Actor,
  sought: PendingQuery,
): Promise<PendingInvitation> => {
  const visible = await pending(em, sought)
    .where(clientVisibleTo(actor, sql`client_id`))
    .where(sought.client === undefined ? sql<boolean>`true` : sql<boolean>`client_id = ${sought.client}`)
    .orderBy('id', 'desc')
    .execute();
  const managed = visible.filter((row) => administersClient(actor, row.client_id));
  const candidates = managed.length > 0 ? managed : visible;
  const [first, second] = candidates;
  if (!first) throw notFound('pending invitation');
  const invitedByActor = candidates.find((row) => row.inviter_id === actor.id);
  if (!invitedByActor && second) throw new Problem('ambiguous-invitation');
  return invitedByActor ?? first;
};

/**
 * Finds and locks one invitation. Locking several in another order than bulk requests do could deadlock.
 * @throws Problem `not-found`, `forbidden`, `ambiguous-invitation`
 */
export const lockPending = async (
  tx: SqlEntityManager,
  actor: Actor,
  sought: PendingQuery,
): Promise<PendingInvitation> => {
  const found = await findPending(tx, actor, sought);
  requireClientAdmin(actor, found.client_id);
  const locked = await pending(tx, sought).where('id', '=', found.id).forUpdate().executeTakeFirst();
  if (!locked) throw notFound('pending invitation');
  return locked;
};

const pending = (tx: SqlEntityManager, { email, now }: PendingQuery) =>
  tables(tx)
    .selectFrom('invitations')
    .select(['id', 'client_id', 'inviter_id'])
    .where('email', '=', email)
    .where(hasStatus('pending', now));

const replaceInitialApps = async (
  tx: SqlEntityManager,
  invitation: PendingInvitation,
  appIds: string[],
): Promise<void> => {
  const apps = await tables(tx)
    .selectFrom('apps')
    .select('id')
    .where('client_id', '=', invitation.client_id)
    .where(sql<boolean>`id = any(${appIds}::varchar[])`)
    .execute();
  const known = new Set(apps.map((app) => app.id));
  const foreign = appIds.filter((id) => !known.has(id));
  if (foreign.length > 0) {
    throw invalid({ initial_apps: foreign.map((id) => `This client has no app ${id}.`) });
  }

  const db = tables(tx);
  await db.deleteFrom('invitation_apps').where('invitation_id', '=', invitation.id).execute();
  if (known.size === 0) return;
  await db
    .insertInto('invitation_apps')
    .values([...known].map((id) => ({ invitation_id: invitation.id, app_id: id })))
    .execute();
};
