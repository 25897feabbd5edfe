import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import type { AuditEvent } from '../audit/audit.ts';

type Change = { before: readonly string[]; after: readonly string[] };

/**
 * Returns the audit events of changed app grants, one event per client: admins of one client must not see the apps of
 * another.
 */
export const appEvents = async (
  tx: SqlEntityManager,
  actor: Actor,
  target: string,
  { before, after }: Change,
): Promise<AuditEvent[]> => {
  const granted = after.filter((id) => !before.includes(id));
  const revoked = before.filter((id) => !after.includes(id));
  const apps = await tables(tx)
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where(sql<boolean>`id = any(${[...granted, ...revoked]}::varchar[])`)
    .orderBy('client_id')
    .execute();
  return eventsByClient(actor, target, apps, { granted, revoked });
};

type Apps = readonly { id: string; client_id: number }[];

/** Like `appEvents`, for apps whose clients are known. */
export const eventsByClient = (
  actor: Actor,
  target: string,
  apps: Apps,
  { granted, revoked }: { granted: readonly string[]; revoked: readonly string[] },
): AuditEvent[] => {
  const byClient = Map.groupBy(apps, (app) => app.client_id);
  return [...byClient].map(([client, clientApps]) => {
    const inClient = (ids: readonly string[]) => ids.filter((id) => clientApps.some((app) => app.id === id));
    const details = { granted: inClient(granted), revoked: inClient(revoked) };
    return { action: 'user.change-apps', actor, target, clients: [client], details };
  });
};
