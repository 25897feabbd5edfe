/**
 * A part of a statement that writes entries of the audit trail. The events are a query of action, target, clients and
 * details; `au` is who did it, and the request's id and address are the parameters from `first` on.
 */
export const withAudit = (events: string, first: number): string => `,
  audited as (insert into audit_entries
      (occurred_at, request_id, address, actor_email, action, target, client_ids, details)
    select now(), $${first}::varchar, $${first + 1}::varchar, au.email, event.*
    from au, (${events}) as event (action, target, client_ids, details))`;
