import { defineEntity, p } from '@mikro-orm/core';
import { index, instant, jsonObject } from './columns.ts';

/**
 * SQL: the same for all entries of one operation: a change of many users, or else what a person did by one request. A request id may be
 * the caller's, so it counts for the same actor within a minute. Null for single entries of the service and the command line.
 */
export const OPERATION_KEY = `coalesce(
  (details ->> 'operation') || coalesce(details ->> 'is_undo', ''),
  request_id || ' ' || floor(extract(epoch from occurred_at at time zone 'UTC') / 60)::bigint::text
    || ' ' || coalesce(actor_id::text, ''))`;

/**
 * Who did what to whom, when and from where. Users and objects are named by id, and by a label with their name at that time, because
 * entries outlive them. Append-only: a trigger refuses deletes, except of entries before the cutoff that the retention sets for its
 * transaction, and updates, except those with which an erasure replaces names.
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
    index('audit_entries_operation', `audit_entries (${OPERATION_KEY}, occurred_at, id)`),
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
    /** `user` or `service`; null if the caller was not logged in, or if the service acted on its own. */
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
    /** The clients that the entry concerns. Users with `read-audit` in one of them see the entry. */
    clientIds: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    details: jsonObject(),
    requestId: p.string().length(128).nullable(),
    address: p.string().length(45).nullable(),
  },
});

/**
 * An audit entry that is published as an event. Ids follow the order in which transactions became visible: a reader who has read up to an
 * id has missed no event before it. The ids of audit entries do not guarantee this. Events of one resource keep their order.
 */
export const Event = defineEntity({
  name: 'Event',
  tableName: 'events',
  triggers: [
    {
      // A trigger, so that it runs for every INSERT. Its place in the order of tables: a restore writes these rows before their events.
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
    /** No foreign key: its check would write to the audit entry. */
    entryId: p.bigint('number').unique(),
  },
});

/** A client that an event concerns. The index finds the events of a client, or of one action, without a scan. */
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

/** An audit entry that is not published as an event yet. */
export const UnpublishedEvent = defineEntity({
  name: 'UnpublishedEvent',
  tableName: 'unpublished_events',
  properties: { entryId: p.bigint('number').primary().autoincrement(false) },
});

/** The position of an event sink in the events of the installation. */
export const EventSinkPosition = defineEntity({
  name: 'EventSinkPosition',
  tableName: 'event_sinks',
  properties: {
    /** `file`, `syslog` or `http`. */
    name: p.string().length(16).primary(),
    /** The id of the last event that it has received. */
    position: p.bigint('number'),
    /** Attempts since the last success. */
    attempts: p.integer().default(0),
    /** The time of the next attempt. While a worker sends, the end of its lease. */
    nextAttemptAt: instant(),
    failingSince: instant().nullable(),
    lastError: p.string().length(500).nullable(),
    /** When an instance last had this sink configured. Updated at most once an hour. */
    servedAt: instant(),
  },
});
