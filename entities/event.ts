import { defineEntity, p } from '@mikro-orm/core';

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
