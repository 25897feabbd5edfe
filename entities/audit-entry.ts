import { defineEntity, p } from '@mikro-orm/core';
import { freeForm, instant } from './instant.ts';

/**
 * Who did what to whom, when and from where. Only ever added to: a trigger refuses everything else. It names
 * people and things rather than referring to them, so that it outlives them.
 */
export const AuditEntrySchema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  indexes: [
    { properties: ['occurredAt', 'id'] },
    { properties: ['action', 'occurredAt', 'id'] },
    { properties: ['actorEmail', 'occurredAt', 'id'] },
    { properties: ['target', 'occurredAt', 'id'] },
    {
      name: 'audit_entries_client_ids',
      expression: 'create index audit_entries_client_ids on audit_entries using gin (client_ids)',
    },
  ],
  triggers: [
    {
      name: 'append_only',
      timing: 'before',
      events: ['update', 'delete'],
      forEach: 'statement',
      body: `raise exception 'The audit trail is append-only.'`,
    },
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    occurredAt: instant(),
    /** `user.update`, `invitation.accept` … */
    action: p.string().length(64),
    /** Empty when nobody was logged in, or the service did it by itself. */
    actorEmail: p.string().length(254).default(''),
    /** Email address, app slug, domain … of what was acted upon. */
    target: p.string().length(255).default(''),
    /** The clients it concerns, whose admins may read it. */
    clientIds: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    details: freeForm(),
    requestId: p.string().length(128).nullable(),
    address: p.string().length(45).nullable(),
  },
});

export class AuditEntry extends AuditEntrySchema.class {}
AuditEntrySchema.setClass(AuditEntry);
