import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { lockPending } from '../invitations/pending-invitation.ts';
import type { Unit } from '../unit.ts';
import { lockVisibleUser } from '../users/user-locks.ts';
import type { Actor } from './actor.ts';
import { appVisibleTo, clientVisibleTo } from './visibility.ts';

/** The validated input of the query that returns the resource. */
type Key = Record<string, unknown>;

/**
 * Locks the row behind a resource until the end of the transaction, so that its ETag cannot change. Every writer of the
 * resource locks the same row. Rows that do not exist, or that the actor may not see, are not locked. `for no key update`
 * lets other transactions add usage or members, which only reference the row.
 */
export const createResourceLocks = ({ em, clock }: Unit) => ({
  'users.get': async (actor: Actor, { email }: Key): Promise<void> => {
    await lockVisibleUser(em, actor, String(email));
  },
  'clients.get': async (actor: Actor, { id }: Key): Promise<void> => {
    await tables(em)
      .selectFrom('clients')
      .select('id')
      .where('id', '=', Number(id))
      .where(clientVisibleTo(actor, sql`id`))
      .forNoKeyUpdate()
      .execute();
  },
  'sites.get': async (_actor: Actor, { id }: Key): Promise<void> => {
    await tables(em).selectFrom('sites').select('id').where('id', '=', Number(id)).forNoKeyUpdate().execute();
  },
  'apps.get': async (actor: Actor, { app_id: id }: Key): Promise<void> => {
    await tables(em)
      .selectFrom('apps')
      .select('id')
      .where('id', '=', String(id))
      .where(appVisibleTo(actor))
      .forNoKeyUpdate()
      .execute();
  },
  'invitations.pending': async (actor: Actor, { email, client }: Key): Promise<void> => {
    const filter = { email: String(email), client: client === undefined ? undefined : Number(client) };
    await lockPending(em, actor, { ...filter, now: clock.now() });
  },
  'savedFilters.get': async (actor: Actor, { hash }: Key): Promise<void> => {
    await tables(em)
      .selectFrom('saved_filters')
      .select('id')
      .where('user_id', '=', actor.id)
      .where('hash', '=', String(hash))
      .forNoKeyUpdate()
      .execute();
  },
});

export type ResourceLocks = ReturnType<typeof createResourceLocks>;
