import { type RawBuilder, sql } from 'kysely';

/** With the hash of a channel: an advisory lock that all listeners of the channel share. */
export const LISTENERS = 7_305;

/**
 * SQL that notifies the listeners of a channel. A notification wakes every session that listens to any channel. So it is sent only if
 * someone listens to this one: then the exclusive lock cannot be taken; otherwise it is released at once. A change that is about to be
 * committed while the first listener begins may not be announced.
 */
export const notifyListeners = (channel: string): RawBuilder<unknown> => sql`
  case when pg_try_advisory_lock(${LISTENERS}::int, hashtext(${channel}))
    then pg_advisory_unlock(${LISTENERS}::int, hashtext(${channel}))::text
    else pg_notify(${channel}, '')::text end`;
