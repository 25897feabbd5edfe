import { defineEntity, p } from '@mikro-orm/core';

/**
 * An entry of the audit trail that others may hear of. Ids follow the order in which transactions became visible: whoever has read up to an
 * id has missed none before it, which the ids of entries do not promise. Entries on one resource keep their order.
 */
export const Event = defineEntity({
  name: 'Event',
  tableName: 'events',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    /** Without a foreign key, whose check would write to the entry. */
    entryId: p.bigint('number').unique(),
  },
});

/** An entry of the audit trail that has no id among the events yet. */
export const UnpublishedEvent = defineEntity({
  name: 'UnpublishedEvent',
  tableName: 'unpublished_events',
  properties: { entryId: p.bigint('number').primary().autoincrement(false) },
});
