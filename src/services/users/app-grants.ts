import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import {
  auditEntryVisibleTo,
  clientManagedBy,
  clientVisibleTo,
  userClientVisibleTo,
  userVisibleTo,
} from '../access/visibility.ts';
import type { AuditEvent } from '../audit/audit.ts';
import type { Unit } from '../unit.ts';

export type GrantableApp = { id: string; client_id: number };

/** Finds the apps that the actor may grant, oldest first. `unknown` are ids of no app, or of an app of another client. */
export const findGrantable = async (em: SqlEntityManager, actor: Actor, appIds: readonly string[]) => {
  const apps = await tables(em)
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where(sql<boolean>`id = any(${[...appIds]}::varchar[])`)
    .where(clientManagedBy(actor, sql`client_id`))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const foundIds = new Set(apps.map(({ id }) => id));
  return { apps, unknown: appIds.filter((id) => !foundIds.has(id)) };
};

export const unknownApp = (id: string): string => `There is no app ${id} to grant.`;

/** Grants apps to a user, who becomes a member of their clients. */
export const grantApps = async (em: SqlEntityManager, userId: number, apps: readonly GrantableApp[]) => {
  if (apps.length === 0) return;
  await tables(em)
    .insertInto('app_grants')
    .values(apps.map(({ id }) => ({ user_id: userId, app_id: id })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await joinClients(em, userId, new Set(apps.map((app) => app.client_id)));
};

/** Revokes apps of a user, who stays a member of their clients. */
export const revokeApps = async (em: SqlEntityManager, userId: number, apps: readonly GrantableApp[]) => {
  if (apps.length === 0) return;
  await tables(em)
    .deleteFrom('app_grants')
    .where('user_id', '=', userId)
    .where(
      'app_id',
      'in',
      apps.map(({ id }) => id),
    )
    .execute();
};

export const joinClients = async (em: SqlEntityManager, userId: number, clientIds: Set<number>) => {
  if (clientIds.size === 0) return;
  await tables(em)
    .insertInto('memberships')
    .values([...clientIds].map((clientId) => ({ client_id: clientId, user_id: userId })))
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

/** When and by whom an app was granted; null if the audit trail does not go back so far, as after an import. */
export type UserGrant = { app: string; granted_at: Date | null; granted_by: string | null };

export const createUserGrants = ({ em }: Pick<Unit, 'em'>) => ({
  /**
   * The apps of a user, by age, with their latest grant: an entry of the audit trail, or an accepted invitation, which its
   * inviter has granted.
   * @throws Problem `not-found`
   */
  list: async (actor: Actor, email: string): Promise<UserGrant[]> => {
    const { id } = await tables(em)
      .selectFrom('users')
      .select('id')
      .where('email', '=', email)
      .where(userVisibleTo(actor))
      .executeTakeFirstOrThrow(() => notFound('user'));
    const { rows } = await grantsOf(actor, { id, email }).execute(tables(em));
    return rows;
  },
});

const grantsOf = (actor: Actor, { id, email }: { id: number; email: string }) => sql<UserGrant>`
  select a.id as app, latest.granted_at, latest.granted_by
  from app_grants g join apps a on a.id = g.app_id left join (
    select distinct on (app_id) app_id, granted_at, granted_by from (
      select app_id, occurred_at, actor_email
      from audit_entries, json_array_elements_text(details -> 'granted') as granted (app_id)
      where target = ${email} and action = 'user.change-apps' and ${auditEntryVisibleTo(actor)}
      union all
      select ia.app_id, i.closed_at, inviter.email
      from invitations i join invitation_apps ia on ia.invitation_id = i.id
        join users inviter on inviter.id = i.inviter_id
      where i.email = ${email} and i.status = 'accepted' and ${clientVisibleTo(actor, sql`i.client_id`)}
    ) as grants (app_id, granted_at, granted_by)
    order by app_id, granted_at desc
  ) as latest on latest.app_id = a.id
  where g.user_id = ${id} and ${userClientVisibleTo(actor, sql`g.user_id`, sql`a.client_id`)}
  order by a.created_at, a.id`;
