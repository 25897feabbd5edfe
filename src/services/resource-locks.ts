import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../entities/index.ts';
import { kysely } from '../db/kysely.ts';
import type { Actor } from './access/actor.ts';
import { accessViewManagedBy, appVisibleTo, clientVisibleTo, hasIdOrKey } from './access/visibility.ts';
import { lockVisibleUser } from './accounts/user-locks.ts';
import { lockPending } from './invitations/invitation-rows.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/** The validated input of a query. */
type Key = Record<string, unknown>;

/**
 * For each query that returns a resource with an ETag: locks its row until the end of the transaction, so that the ETag cannot change.
 * Every writer of the resource locks the same row. Rows that do not exist, or that the actor may not see, are not locked. `for no key
 * update` lets other transactions add rows that only refer to this one, such as usage and members. Users are locked in the same way as by
 * their updates, which also wait for such rows.
 */
export const createResourceLocks = ({ em, clock }: UnitOfWork) => {
  const lock = (table: keyof Database, condition: RawBuilder<unknown>) =>
    sql`select from ${sql.table(table)} where ${condition} for no key update`.execute(kysely(em));
  const lockClient = (actor: Actor, { id }: Key) =>
    lock('clients', sql`id = ${Number(id)} and ${clientVisibleTo(actor, sql`id`)}`);
  const lockFilter = (actor: Actor, { hash }: Key) =>
    lock('saved_filters', sql`user_id = ${actor.id} and hash = ${String(hash)}`);
  return {
    'users.get': (actor: Actor, { email }: Key) => lockVisibleUser(em, actor, String(email)),
    'clients.get': lockClient,
    'clients.gate': lockClient,
    'clients.factorPolicy': lockClient,
    'reminders.get': lockClient,
    'sites.get': (_actor: Actor, { id }: Key) => lock('sites', sql`id = ${Number(id)}`),
    'apps.get': (actor: Actor, { app_id: id }: Key) =>
      lock('apps', sql`id = ${String(id)} and ${appVisibleTo(actor, clock.now())}`),
    'invitations.pending': (actor: Actor, { email, client }: Key) => {
      const filter = { email: String(email), client: client === undefined ? undefined : Number(client) };
      return lockPending(em, actor, { ...filter, now: clock.now() });
    },
    'accessViews.get': (actor: Actor, { key }: Key) =>
      lock(
        'access_views',
        sql`${hasIdOrKey(String(key))} and exists (select from apps
          where apps.id = access_views.app_id and ${accessViewManagedBy(actor)})`,
      ),
    'savedFilters.get': lockFilter,
    'savedFilters.getState': lockFilter,
    'savedFilters.getSharing': lockFilter,
  };
};
