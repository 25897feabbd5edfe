import { p } from '@mikro-orm/core';

/** A moment to the millisecond: what REST shows, what a `Date` holds and what a cursor compares agree to the digit. */
export const instant = () => p.datetime(3).columnType('timestamptz(3)');

/** Free-form JSON kept as sent: `json`, not `jsonb`, which would reorder keys and refuse `\u0000`. */
export const freeForm = () => p.json<Record<string, unknown>>().columnType('json').defaultRaw(`'{}'`);
