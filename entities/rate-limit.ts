import { defineEntity, p } from '@mikro-orm/core';

/** A rate limit counter. `expire` is in milliseconds since 1970, by the clock of the database. */
export const RateLimit = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limits',
  properties: {
    key: p.string().length(255).primary(),
    points: p.integer().default(0),
    expire: p.bigint('number').nullable().index(),
  },
});
