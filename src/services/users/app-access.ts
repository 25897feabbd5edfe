import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, administersClient, canViewAll } from '../access/actor.ts';
import { clientManagedBy } from '../access/visibility.ts';

export type GrantableApp = { id: string; client_id: number };

/** Finds the apps that the actor may grant. `unknown` are ids of no app, or of an app of another client. */
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
  const foundIds = new Set(apps.map(({ id }) => id));
  return { apps, unknown: appIds.filter((id) => !foundIds.has(id)) };
};

export const unknownApp = (id: string): string => `There is no app ${id} to grant.`;

/** Grants apps to a user, who becomes a member of their clients. */
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

/** An app that is granted to a user, or requested for them. */
export type KnownApp = GrantableApp & { is_granted: boolean };

/**
 * Plans the grants and revocations that replace a user's apps by the requested ones. Apps of clients that the actor does not
 * administer stay unchanged, so that admins of different clients do not undo each other's changes.
 * @param known the user's apps, and the requested apps that exist
 * @throws Problem `invalid-input` on `apps`
 */
export const planAppReplacement = (actor: Actor, known: readonly KnownApp[], appIds: readonly string[]) => {
  const requested = new Set(appIds.filter((id) => !isReadOnly(actor, known, id)));
  const changeable = known.filter((app) => administersClient(actor, app.client_id));
  const wanted = changeable.filter(({ id }) => requested.has(id));
  for (const { id } of wanted) requested.delete(id);
  if (requested.size > 0) throw invalid({ apps: [...requested].map(unknownApp) });
  return {
    wanted,
    granted: wanted.filter((app) => !app.is_granted),
    revoked: changeable.filter((app) => app.is_granted && !wanted.includes(app)),
  };
};

/** A granted app that the actor may see but not change. Clients may send it back unchanged. */
const isReadOnly = (actor: Actor, known: readonly KnownApp[], appId: string): boolean =>
  canViewAll(actor) &&
  known.some(({ id, client_id: client, is_granted: isGranted }) => {
    return id === appId && isGranted && !administersClient(actor, client);
  });
