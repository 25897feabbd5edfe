import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, administersClient, canViewAll } from '../access/actor.ts';
import { clientManagedBy } from '../access/visibility.ts';

export type GrantableApp = { id: string; client_id: number };

/** The apps of these ids that the actor may grant, and the ids that name none: unknown or of another client. */
export const findGrantable = async (
  em: SqlEntityManager,
  actor: Actor,
  appIds: readonly string[],
): Promise<{ apps: GrantableApp[]; unknown: string[] }> => {
  const apps = await tables(em)
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where(sql<boolean>`id = any(${[...appIds]}::varchar[])`)
    .where(clientManagedBy(actor, sql`client_id`))
    .execute();
  const known = new Set(apps.map(({ id }) => id));
  return { apps, unknown: appIds.filter((id) => !known.has(id)) };
};

export const unknownApp = (id: string): string => `There is no app ${id} to grant.`;

/** Gives a user these apps, and with each the membership of its client. */
export const grantApps = async (
  em: SqlEntityManager,
  userId: number,
  apps: readonly GrantableApp[],
): Promise<void> => {
  if (apps.length === 0) return;
  await tables(em)
    .insertInto('app_grants')
    .values(apps.map(({ id }) => ({ user_id: userId, app_id: id })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await joinClients(em, userId, new Set(apps.map((app) => app.client_id)));
};

export const joinClients = async (em: SqlEntityManager, userId: number, clientIds: Set<number>) => {
  if (clientIds.size === 0) return;
  await tables(em)
    .insertInto('memberships')
    .values([...clientIds].map((clientId) => ({ client_id: clientId, user_id: userId })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
};

/** An app that a user has, or is to have. */
export type KnownApp = GrantableApp & { is_granted: boolean };

/**
 * What it takes to make a user's apps, as far as the actor may change them, exactly these. Apps of other clients stay as
 * they are, so that two admins at work on one user do not undo each other.
 * @param known the user's apps, and those asked for that there are
 * @throws Problem `invalid-input` on `apps`
 */
export const replacement = (actor: Actor, known: readonly KnownApp[], appIds: readonly string[]) => {
  const asked = new Set(appIds.filter((id) => !isForeign(actor, known, id)));
  const changeable = known.filter((app) => administersClient(actor, app.client_id));
  const wanted = changeable.filter(({ id }) => asked.has(id));
  for (const { id } of wanted) asked.delete(id);
  if (asked.size > 0) throw invalid({ apps: [...asked].map(unknownApp) });
  return {
    wanted,
    granted: wanted.filter((app) => !app.is_granted),
    revoked: changeable.filter((app) => app.is_granted && !wanted.includes(app)),
  };
};

/** An app the user has, that the actor is shown but may not change: echoing it back is no fault. */
const isForeign = (actor: Actor, known: readonly KnownApp[], appId: string): boolean =>
  canViewAll(actor) &&
  known.some(({ id, client_id: client, is_granted: isGranted }) => {
    return id === appId && isGranted && !administersClient(actor, client);
  });
