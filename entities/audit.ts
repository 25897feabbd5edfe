import { defineEntity, p } from '@mikro-orm/core';
import { index, instant, jsonObject } from './columns.ts';

/**
 * Who did what to whom, when and from where. People and things are named by their ids, beside labels that say for readers what they were
 * called at that time: entries outlive what they name. Append-only: a trigger refuses deletes, except of entries before the cutoff that
 * their retention sets for its transaction, and updates, except of what names people while an erasure is on.
 */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  indexes: [
    { properties: ['occurredAt', 'id'] },
    { properties: ['action', 'occurredAt', 'id'] },
    { properties: ['actorId', 'occurredAt', 'id'] },
    { properties: ['actorLabel', 'occurredAt', 'id'] },
    { properties: ['targetType', 'targetId', 'occurredAt', 'id'] },
    { properties: ['targetLabel', 'occurredAt', 'id'] },
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
        if current_setting('steward.erasing', true) = 'on' and (
          to_jsonb(old) - array['actor_label', 'target_label', 'details', 'address']
          = to_jsonb(new) - array['actor_label', 'target_label', 'details', 'address']) then return new; end if;
      end if;
      raise exception 'The audit trail is append-only.'`,
    },
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    occurredAt: instant(),
    /** `user.update`, `invitation.accept` … */
    action: p.string().length(64),
    /** `user` or `service`; null if the caller was not logged in, or the service acted on its own. */
    actorType: p.text().$type<'service' | 'user'>().nullable(),
    actorId: p.integer().nullable(),
    /** The email address at that time. */
    actorLabel: p.string().length(254).default(''),
    /** What the action changed: `user`, `app`, `client` … */
    targetType: p.text().nullable(),
    /** Null if there is only a label, such as an address without an account. */
    targetId: p.text().nullable(),
    /** The email address, app slug, domain … at that time. */
    targetLabel: p.string().length(255).default(''),
    /** The clients that the entry concerns. Users who may `read-audit` in one of them see it. */
    clientIds: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    details: jsonObject(),
    requestId: p.string().length(128).nullable(),
    address: p.string().length(45).nullable(),
  },
});

/**
 * An entry of the audit trail that others may hear of. Ids follow the order in which transactions became visible: whoever has read up to an
 * id has missed none before it, which the ids of entries do not promise. Entries on one resource keep their order.
 */
export const Event = defineEntity({
  name: 'Event',
  tableName: 'events',
  triggers: [
    {
      // Whichever code publishes the event. In the order of its tables, a restore writes the rows before their events.
      name: 'clients',
      timing: 'after',
      events: ['insert'],
      forEach: 'row',
      body: `insert into event_clients (client_id, event_id, action)
          select unnest(client_ids), new.id, action from audit_entries where id = new.entry_id
          on conflict do nothing;
        return null`,
    },
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    /** Without a foreign key, whose check would write to the entry. */
    entryId: p.bigint('number').unique(),
  },
});

/** A client that an event concerns. Finds the events of a client, or those of one action, without reading all others. */
export const EventClient = defineEntity({
  name: 'EventClient',
  tableName: 'event_clients',
  indexes: [{ properties: ['clientId', 'action', 'eventId'] }],
  properties: {
    clientId: p.integer().primary(),
    eventId: p.bigint('number').primary(),
    action: p.string().length(64),
  },
});

/** An entry of the audit trail that has no id among the events yet. */
export const UnpublishedEvent = defineEntity({
  name: 'UnpublishedEvent',
  tableName: 'unpublished_events',
  properties: { entryId: p.bigint('number').primary().autoincrement(false) },
});

/** How far a place that the settings name has received the events of the installation. */
export const EventSinkPosition = defineEntity({
  name: 'EventSinkPosition',
  tableName: 'event_sinks',
  properties: {
    /** `file`, `syslog` or `http`. */
    name: p.string().length(16).primary(),
    /** The id of the last event that it has received. */
    position: p.bigint('number'),
    /** Since the last success. */
    attempts: p.integer().default(0),
    /** While a worker sends to it, the end of its lease. */
    nextAttemptAt: instant(),
    failingSince: instant().nullable(),
    lastError: p.string().length(500).nullable(),
    /** When an instance last had it set, up to an hour earlier. */
    servedAt: instant(),
  },
});
