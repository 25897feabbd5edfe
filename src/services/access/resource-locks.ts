import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { Clock } from '../../lib/clock.ts';
import { lockPending } from '../invitations/pending-invitation.ts';
import { lockVisibleUser } from '../users/user-locks.ts';
import type { Actor } from './actor.ts';
import { appVisibleTo, clientVisibleTo } from './visibility.ts';

type Deps = { em: SqlEntityManager; clock: Clock };
/** As the query that shows the resource takes it, and has checked it. */
type Key = Record<string, unknown>;

/**
 * Holds back whoever else would write what a query shows, until the transaction ends: each takes the row that all
 * writers of the resource take. What is not there, or not visible to the actor, is not locked. Not `for update`: whoever writes usage, or adds a
 * member, only makes sure that the app or client stays, and need not wait.
 */
export const createResourceLocks = ({ em, clock }: Deps) => ({
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
    const sought = { email: String(email), client: client === undefined ? undefined : Number(client) };
    await lockPending(em, actor, { ...sought, now: clock.now() });
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
