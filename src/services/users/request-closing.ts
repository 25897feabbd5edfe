import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { appAccess, isAllowedIn, opensByRole } from '../access/visibility.ts';
import { type AuditEvent, ofUser, type Person } from '../audit/audit.ts';

type ClosedRequest = { id: number; app_id: string; client_id: number; user_id: number; email: string };

/** Whether the person of a request `r` has the app by now, or can no longer get it by a request. */
const isObsolete = (now: Date) => condition`(
  exists (select from ${appAccess(now)} g where g.user_id = r.user_id and g.app_id = r.app_id)
  or not exists (
    select from apps a join memberships m on m.client_id = a.client_id and m.user_id = r.user_id
      join users u on u.id = m.user_id
    where a.id = r.app_id and m.is_active_member and u.is_active
      and not ${opensByRole('u', 'm')}))`;

/**
 * Closes pending requests that have become obsolete. Call it in the transaction that changes access, after the change: decisions about a
 * request also lock its user first.
 * @param isOf selects the requests to check: a condition on `r`
 */
export const closeObsoleteRequests = async (tx: Em, isOf: RawBuilder<boolean>, by: number, now: Date) => {
  const { rows } = await sql<ClosedRequest>`
    with obsolete as (
      select r.id from access_requests r where r.status = 'pending' and ${isOf} and ${isObsolete(now)}
      order by r.id for update of r
    ),
    closed as (
      update access_requests r set status = 'closed', version = version + 1, decided_at = ${now}::timestamptz,
        decided_by = ${by}::int
      from obsolete where r.id = obsolete.id returning r.id, r.user_id, r.app_id
    )
    select closed.id, closed.app_id, a.client_id, closed.user_id, u.email
    from closed join apps a on a.id = closed.app_id join users u on u.id = closed.user_id
    order by closed.id`.execute(kysely(tx));
  return rows;
};

/**
 * Closes the obsolete requests of a user for apps whose clients the actor may change. Closing others would reveal to their clients who has
 * changed the user, and when. Returns the audit events.
 */
export const closeRequestsOf = async (tx: Em, actor: Actor, userId: number, now: Date) => {
  const isOf = requestsIn(userId, (clientId) => isAllowedIn(clientId, actor, 'manage-grants'));
  return closeEvents(actor, await closeObsoleteRequests(tx, isOf, actor.id, now));
};

/** Requests of a user for apps of clients that meet the condition. */
export const requestsIn = (
  userId: number,
  isClient: (clientId: RawBuilder<number>) => RawBuilder<boolean>,
): RawBuilder<boolean> => condition`(r.user_id = ${userId}
  and exists (select from apps a where a.id = r.app_id and ${isClient(sql`a.client_id`)}))`;

/** Requests for these apps by people who were granted them. */
export const requestsFor = (grants: readonly { user_id: number; app_id: string }[]): RawBuilder<boolean> =>
  condition`(r.user_id, r.app_id) in (
    select user_id, app_id from json_to_recordset(${JSON.stringify(grants)}::json) as g (user_id int, app_id varchar))`;

export const closeEvents = (actor: Person, closed: readonly ClosedRequest[]): AuditEvent[] =>
  closed.map(({ id, app_id, client_id, user_id, email }) => ({
    action: 'access-request.close',
    actor,
    target: ofUser({ id: user_id, email }),
    clients: [client_id],
    details: { id, app: app_id },
  }));
