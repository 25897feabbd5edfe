import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { invalid } from '../../core/problems.ts';
import { type Actor, seesAll } from '../actor.ts';
import { inChangedClients, tables } from '../tables.ts';

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
    .where(inChangedClients(actor, sql`client_id`))
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

/**
 * Makes the user's apps, as far as the actor may change them, exactly these. Apps of other clients stay as
 * they are, so that two admins at work on one user do not undo each other.
 */
export const replaceApps = async (
  em: SqlEntityManager,
  actor: Actor,
  userId: number,
  appIds: readonly string[],
): Promise<void> => {
  const foreign = await foreignGrants(em, actor, userId);
  const asked = appIds.filter((id) => !foreign.has(id));
  const { apps: wanted, unknown } = await findGrantable(em, actor, asked);
  if (unknown.length > 0) throw invalid({ apps: unknown.map(unknownApp) });

  await sql`
    delete from app_grants g using apps a
    where g.user_id = ${userId} and a.id = g.app_id
      and ${inChangedClients(actor, sql`a.client_id`)}
      and g.app_id <> all(${wanted.map(({ id }) => id)}::varchar[])`.execute(tables(em));
  await grantApps(em, userId, wanted);
};

/** Apps the user has, that the actor is shown but may not change: echoing them back is no fault. */
const foreignGrants = async (em: SqlEntityManager, actor: Actor, userId: number): Promise<Set<string>> => {
  if (!seesAll(actor) || actor.isSuperuser) return new Set();
  const rows = await tables(em)
    .selectFrom('app_grants')
    .innerJoin('apps', 'apps.id', 'app_grants.app_id')
    .select('apps.id')
    .where('app_grants.user_id', '=', userId)
    .where(sql<boolean>`not ${inChangedClients(actor, sql`apps.client_id`)}`)
    .execute();
  return new Set(rows.map(({ id }) => id));
};
