import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { Actor } from '../actor.ts';
import { type Part, readPart } from '../paging.ts';
import { tables } from '../tables.ts';
import type { AuditAction } from './actions.ts';

export type AuditFilter = {
  action?: AuditAction | undefined;
  actor?: string | undefined;
  target?: string | undefined;
  client?: number | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  /** The id of the last entry of the page before. */
  cursor?: number | undefined;
};

/** Reading the audit trail: all of it for superusers, and what concerns their clients for client admins. */
export const createAuditTrail = ({ em }: { em: SqlEntityManager }) => ({
  /** The newest first. */
  list: (actor: Actor, filter: AuditFilter, part: Part): Promise<AuditRow[]> => {
    let rows = auditRows(em).where(isReadable(actor));
    if (filter.action !== undefined) rows = rows.where('action', '=', filter.action);
    if (filter.actor !== undefined) rows = rows.where('actor_email', '=', filter.actor);
    if (filter.target !== undefined) rows = rows.where('target', '=', filter.target);
    if (filter.client !== undefined) rows = rows.where(concerns([filter.client]));
    if (filter.from !== undefined) rows = rows.where('occurred_at', '>=', filter.from);
    if (filter.to !== undefined) rows = rows.where('occurred_at', '<', filter.to);
    if (filter.cursor !== undefined) rows = rows.where(isBefore(filter.cursor));
    return readPart(rows, 'id', part);
  },
});

const auditRows = (em: SqlEntityManager) =>
  tables(em)
    .selectFrom('audit_entries')
    .select(['id', 'occurred_at', 'action', 'actor_email', 'target', 'client_ids'])
    .select(['details', 'request_id', 'address'])
    .orderBy('occurred_at', 'desc')
    .orderBy('id', 'desc');

export type AuditRow = Awaited<ReturnType<ReturnType<typeof auditRows>['execute']>>[number];

const isBefore = (cursor: number) => sql<boolean>`
  (occurred_at, id) < (select c.occurred_at, c.id from audit_entries c where c.id = ${cursor})`;

const concerns = (clientIds: readonly number[]) => sql<boolean>`client_ids && ${[...clientIds]}::int[]`;

const isReadable = (actor: Actor) => (actor.isSuperuser ? sql<boolean>`true` : concerns(actor.adminOf));
