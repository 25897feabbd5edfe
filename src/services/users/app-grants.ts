import { sql } from 'kysely';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { clientManagedBy } from '../access/visibility.ts';
import type { AuditEvent } from '../audit/audit.ts';

export type GrantableApp = { id: string; client_id: number };

/** Finds the apps that the actor may grant, oldest first. `unknown` are ids of no app, or of an app of another client. */
export const findGrantable = async (em: Em, actor: Actor, appIds: readonly string[]) => {
  const apps = await kysely(em)
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where(isAnyOf('id', appIds, 'varchar'))
    .where(clientManagedBy(actor, sql`client_id`))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const foundIds = new Set(apps.map(({ id }) => id));
  return { apps, unknown: appIds.filter((id) => !foundIds.has(id)) };
};

export const unknownApp = (id: string): string => `There is no app ${id} to grant.`;

/** Grants apps to a user, who must be a member of their clients. */
export const grantApps = async (em: Em, userId: number, apps: readonly GrantableApp[]) => {
  if (apps.length === 0) return;
  await kysely(em)
    .insertInto('app_grants')
    .values(apps.map(({ id }) => ({ user_id: userId, app_id: id })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
};

/** Revokes apps of a user, who stays a member of their clients. */
export const revokeApps = async (em: Em, userId: number, apps: readonly GrantableApp[]) => {
  if (apps.length === 0) return;
  await kysely(em)
    .deleteFrom('app_grants')
    .where('user_id', '=', userId)
    .where(
      'app_id',
      'in',
      apps.map(({ id }) => id),
    )
    .execute();
};

/** @param clientIds distinct; clients that the user has joined before are ignored */
export const joinClients = async (em: Em, userId: number, clientIds: readonly number[]) => {
  if (clientIds.length === 0) return;
  await kysely(em)
    .insertInto('memberships')
    .values(clientIds.map((clientId) => ({ client_id: clientId, user_id: userId })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
};

/** Returns the audit events of changed grants, one per client: admins of one client must not see the apps of another. */
export const grantEvents = (
  actor: Actor,
  target: string,
  granted: readonly GrantableApp[],
  revoked: readonly GrantableApp[] = [],
): AuditEvent[] => {
  const clientIds = new Set([...granted, ...revoked].map((app) => app.client_id));
  const sorted = [...clientIds].sort((a, b) => a - b);
  return sorted.map((client) => {
    const idsOf = (apps: readonly GrantableApp[]) =>
      apps.flatMap((app) => (app.client_id === client ? app.id : []));
    const details = { granted: idsOf(granted), revoked: idsOf(revoked) };
    return { action: 'user.change-apps', actor, target, clients: [client], details };
  });
};
