import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, administersClient, requireClientAdmin } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { hasStatus } from './invitation-rows.ts';

export type InvitationChanges = {
  extra?: Record<string, unknown> | undefined;
  initial_apps?: string[] | undefined;
};
type PendingKey = { email: string; client: number | undefined; now: Date };
type PendingInvitation = { id: number; client_id: number };

/**
 * Changes and returns the pending invitation of an address.
 * @throws Problem `not-found`, `forbidden`, `ambiguous-invitation`, `invalid-input` on `initial_apps`
 */
export const updatePending = async (tx: Db, actor: Actor, key: PendingKey, changes: InvitationChanges) => {
  const invitation = await lockPending(tx, actor, key);
  if (changes.initial_apps) await replaceInitialApps(tx, invitation, changes.initial_apps);
  if (changes.extra) {
    await tables(tx)
      .updateTable('invitations')
      .set({ extra: sql`${JSON.stringify(changes.extra)}::json` })
      .where('id', '=', invitation.id)
      .execute();
  }
  return invitation;
};

/**
 * Finds the pending invitation of an address. Among several that the actor manages, prefers the newest that the actor
 * created; several by others are ambiguous. Falls back to invitations that are visible but not managed.
 * @throws Problem `not-found`, `ambiguous-invitation`
 */
export const findPending = async (em: Db, actor: Actor, key: PendingKey) => {
  const visible = await pendingRows(em, key)
    .where(clientVisibleTo(actor, sql`client_id`))
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
export const lockPending = async (tx: Db, actor: Actor, key: PendingKey) => {
  const found = await findPending(tx, actor, key);
  requireClientAdmin(actor, found.client_id);
  const locked = pendingRows(tx, key).where('id', '=', found.id).forUpdate();
  return locked.executeTakeFirstOrThrow(() => notFound('pending invitation'));
};

const pendingRows = (tx: Db, { email, client, now }: PendingKey) => {
  const rows = tables(tx)
    .selectFrom('invitations')
    .select(['id', 'client_id', 'inviter_id'])
    .where('email', '=', email)
    .where(hasStatus('pending', now));
  return client === undefined ? rows : rows.where('client_id', '=', client);
};

const replaceInitialApps = async (tx: Db, invitation: PendingInvitation, appIds: string[]) => {
  const db = tables(tx);
  const apps = await db
    .selectFrom('apps')
    .select(['id as app_id', sql.lit(invitation.id).as('invitation_id')])
    .where('client_id', '=', invitation.client_id)
    .where(sql<boolean>`id = any(${appIds}::varchar[])`)
    .execute();
  const foreign = appIds.filter((id) => !apps.some((app) => app.app_id === id));
  if (foreign.length > 0) {
    throw invalid({ initial_apps: foreign.map((id) => `This client has no app ${id}.`) });
  }
  await db.deleteFrom('invitation_apps').where('invitation_id', '=', invitation.id).execute();
  if (apps.length > 0) await db.insertInto('invitation_apps').values(apps).execute();
};
