import { sql } from 'kysely';
import { DATABASE_TIME } from '../../db/database-clock.ts';
import { before, deleteInBatches } from '../../db/deletion.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { invalidInput, notFound, roleRequired } from '../../lib/problems.ts';
import { MAX_TICKET_SECONDS } from '../../lib/ticket-claims.ts';
import { type Actor, requireIn } from '../access/actor.ts';
import { can, rolesThatMay } from '../access/permissions.ts';
import { accessViewManagedBy, hasIdOrKey } from '../access/visibility.ts';
import { endOpenidLogins, endUses } from '../accounts/access-ends.ts';
import { lockUser } from '../accounts/user-locks.ts';
import { appRow } from '../apps/app-rows.ts';
import { type AuditEvent, type DetailsOf, NO_TARGET, ofApp, ofUser } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** The tickets to revoke: of a view, of a user, for an app, or all. */
type RevokedTickets = { viewId?: number; userId?: number; appId?: string };

/** The parameter of the call; exactly one is given. `access_view` is an id, as in tickets, or a key. */
type Named = {
  access_view?: string | undefined;
  user?: string | undefined;
  app_id?: string | undefined;
  all?: true | undefined;
};

export const createTicketRevocations = ({ em, clock, audit }: UnitOfWork) => {
  const findView = (tx: Em, actor: Actor, idOrKey: string) =>
    kysely(tx)
      .selectFrom('access_views')
      .innerJoin('apps', 'apps.id', 'access_views.app_id')
      .select(['access_views.id', 'apps.id as app_id', 'apps.slug', 'apps.client_id'])
      .where(hasIdOrKey(idOrKey))
      .where(accessViewManagedBy(actor))
      .executeTakeFirstOrThrow(() => notFound('access view'));

  type Found = { revoked: RevokedTickets } & Pick<AuditEvent, 'target' | 'clients'> & {
      details?: DetailsOf<'ticket.revoke'>;
    };
  const find = async (tx: Em, actor: Actor, { access_view, user, app_id }: Named): Promise<Found> => {
    if (access_view !== undefined) {
      const { id, app_id, slug, client_id } = await findView(tx, actor, access_view);
      const target = ofApp({ id: app_id, slug });
      return { revoked: { viewId: id }, target, clients: [client_id], details: { access_view: id } };
    }
    if (user !== undefined) {
      const { user: locked, clientIds } = await lockUser(tx, actor, user);
      return { revoked: { userId: locked.id }, target: ofUser(locked), clients: clientIds };
    }
    if (app_id !== undefined) {
      const { id, slug, client_id } = await appRow(tx, actor, clock.now(), app_id);
      requireIn(actor, 'manage-apps', client_id);
      return { revoked: { appId: id }, target: ofApp({ id, slug }), clients: [client_id] };
    }
    if (!can(actor, 'administer')) throw roleRequired(rolesThatMay('administer'));
    return { revoked: {}, target: { ...NO_TARGET, label: 'all' } };
  };

  return {
    /**
     * Revokes the tickets that were issued until now, and ends what could get new ones: codes, embedded pages, logins by OpenID Connect.
     * @throws Problem `invalid-input`, `not-found`, `forbidden`
     */
    revoke: (actor: Actor, named: Named): Promise<void> =>
      em.transactional(async (tx) => {
        if (Object.values(named).filter((value) => value !== undefined).length !== 1)
          throw invalidInput('Name exactly one of access_view, user, app_id and all.');
        const { revoked, ...event } = await find(tx, actor, named);
        await revokeTickets(tx, revoked);
        await audit.record(tx, [{ action: 'ticket.revoke', actor, ...event }]);
      }),
  };
};

/**
 * Revokes the tickets that were issued until now. The time is truncated to whole milliseconds, as in tickets: a ticket of the same
 * millisecond counts as issued before. Waits for running uses of the views, whose codes and sessions it would not see.
 */
export const revokeTickets = async (tx: Em, { viewId, userId, appId }: RevokedTickets): Promise<void> => {
  const db = kysely(tx);
  await sql`
    select from access_views v where ${hasValues({ 'v.id': viewId, 'v.user_id': userId, 'v.app_id': appId })}
    order by v.id for no key update`.execute(db);
  await sql`
    insert into ticket_revocations as current (access_view_id, user_id, app_id, revoked_at)
    values (${viewId ?? null}, ${userId ?? null}, ${appId ?? null}, date_trunc('milliseconds', ${sql.raw(DATABASE_TIME)}))
    on conflict (coalesce(access_view_id, 0), coalesce(user_id, 0), coalesce(app_id, ''))
      do update set revoked_at = greatest(current.revoked_at, excluded.revoked_at)`.execute(db);

  const isUse = hasValues({ 'v.id': viewId, 'u.user_id': userId, 'v.app_id': appId });
  const isOfUser = viewId === undefined ? hasValues({ user_id: userId, app_id: appId }) : sql`false`;
  await endUses(tx, isUse, isOfUser);
  await endOpenidLogins(tx, isOfUser);
};

/** Whether the row has the same value in all columns that have one here. */
const hasValues = (values: Record<string, number | string | undefined>) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return sql.join(
    [sql`true`, ...given.map(([column, value]) => sql`${sql.ref(column)} = ${value}`)],
    sql` and `,
  );
};

/** Deletes expired launch codes, and revocations that are older than every valid ticket. */
export const pruneTickets = async (em: Em, now: Date): Promise<void> => {
  await deleteInBatches(em, 'launch_codes', sql`expires_at < ${now}::timestamptz`);
  const keptMs = 2 * MAX_TICKET_SECONDS * 1000;
  await deleteInBatches(em, 'ticket_revocations', sql`revoked_at < ${before(now, keptMs)}`);
};
