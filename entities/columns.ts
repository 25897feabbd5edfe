import { p } from '@mikro-orm/core';

/** A time in milliseconds, the precision of `Date`: REST, tRPC and cursors agree on every digit. */
export const instant = () => p.datetime(3).columnType('timestamptz(3)');

/** Free-form JSON, stored as sent: `jsonb` would reorder keys and reject `\u0000`. */
export const jsonObject = () => p.json<Record<string, unknown>>().columnType('json').defaultRaw(`'{}'`);
