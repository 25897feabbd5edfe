import { defineEntity, p } from '@mikro-orm/core';
import { index, instant, jsonObject } from './columns.ts';

/**
 * Who did what to whom, when and from where. Append-only: a trigger rejects updates and deletes, except the replacement of a
 * person who is being erased, and deletes of entries before the cutoff that their retention sets for its transaction. Entries
 * hold names instead of foreign keys, so that they outlive the rows that they name.
 */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  indexes: [
    { properties: ['occurredAt', 'id'] },
    { properties: ['action', 'occurredAt', 'id'] },
    { properties: ['actorEmail', 'occurredAt', 'id'] },
    { properties: ['target', 'occurredAt', 'id'] },
    index('audit_entries_client_ids', 'audit_entries using gin (client_ids)'),
  ],
  triggers: [
    {
      name: 'append_only',
      timing: 'before',
      events: ['update', 'delete'],
      forEach: 'row',
      body: `if tg_op = 'DELETE' then
        if old.occurred_at < nullif(current_setting('steward.audit_cutoff', true), '')::timestamptz then return old; end if;
      elsif tg_op = 'UPDATE' then
        if exists (select from erasures e where e.finished_at is null
          and new::text = erased_audit_entry(old, e)::text) then return new; end if;
      end if;
      raise exception 'The audit trail is append-only.'`,
    },
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    occurredAt: instant(),
    /** `user.update`, `invitation.accept` … */
    action: p.string().length(64),
    /** Empty if the caller was not logged in, or the service acted on its own. */
    actorEmail: p.string().length(254).default(''),
    /** The email address, app slug, domain … that the action changed. */
    target: p.string().length(255).default(''),
    /** The clients that the entry concerns. Users who may `read-audit` in one of them see it. */
    clientIds: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    details: jsonObject(),
    requestId: p.string().length(128).nullable(),
    address: p.string().length(45).nullable(),
  },
});
