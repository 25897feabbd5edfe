import { defineEntity, p } from '@mikro-orm/core';

/** A host name, optionally with a port, that serves the platform. */
export const Site = defineEntity({
  name: 'Site',
  tableName: 'sites',
  properties: {
    id: p.integer().primary().autoincrement(),
    domain: p.string().length(255).unique(),
    name: p.string().length(255),
  },
});
