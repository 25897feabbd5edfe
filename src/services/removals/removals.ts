import { type RawBuilder, sql } from 'kysely';
import { App } from '../../../entities/app.ts';
import { Client } from '../../../entities/client.ts';
import { type Condition, condition, countIn, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { revokeCredentials } from '../accounts/access-ends.ts';
import { isInMaintenance } from '../apps/maintenance.ts';
import { updateDeclaredKeys } from '../attributes/declared-keys.ts';
import { ofApp, ofClient, ofUser } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { countEntries } from '../usage/usage-days.ts';
import { noteLeft } from '../users/member-access.ts';

/** Removes clients and apps permanently, with everything that belongs to them. Routers admit only superusers. */
export const createRemovals = ({ em, clock, audit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => ({
  /**
   * Counts what `removeApp` would delete.
   * @throws Problem `not-found`
   */
  previewApp: async (id: string) => {
    const { label, in_maintenance } = await appOf(em, id, clock.now()).executeTakeFirstOrThrow(() =>
      notFound('app'),
    );
    return { name: label, is_closed: in_maintenance, ...(await countOfApp(em, id)) };
  },

  /**
   * Removes an app that is in maintenance. Its usage is deleted by the next maintenance of usage.
   * @throws Problem `not-found`, `not-closed`, `reauthentication-required`, `invalid-input` on `confirm_name`
   */
  removeApp: (actor: Actor, id: string, confirmName: string): Promise<void> =>
    em.transactional(async (tx) => {
      requireConfirmedSession(actor, clock.now());
      await liftStatementTimeout(tx);
      const { slug, label, client_id, in_maintenance } = await appOf(tx, id, clock.now())
        .forUpdate()
        .executeTakeFirstOrThrow(() => notFound('app'));
      if (!in_maintenance) throw new Problem('not-closed', { detail: 'Put the app into maintenance first.' });
      requireConfirmed(confirmName, label);
      const details = { id, ...(await countOfApp(tx, id)) };
      await tx.remove(tx.getReference(App, id)).flush();
      await updateDeclaredKeys(tx, client_id);
      await audit.record(tx, [
        { action: 'app.remove', actor, target: ofApp({ id, slug }), clients: [client_id], details },
      ]);
    }),

  /**
   * Counts what `removeClient` would delete, and the accounts that it would deactivate.
   * @throws Problem `not-found`
   */
  previewClient: async (id: number) => {
    const { name, is_open } = await clientOf(em, id).executeTakeFirstOrThrow(() => notFound('client'));
    return { name, is_closed: !is_open, ...(await countOfClient(em, id)) };
  },

  /**
   * Removes a closed client with its apps. People who belong to no other client, and have no role, are deactivated.
   * @throws Problem `not-found`, `not-closed`, `reauthentication-required`, `invalid-input` on `confirm_name`
   */
  removeClient: (actor: Actor, id: number, confirmName: string): Promise<void> =>
    em.transactional(async (tx) => {
      requireConfirmedSession(actor, clock.now());
      await liftStatementTimeout(tx);
      // Groups and people first, as in every other change of their access; afterwards no one can join. Nothing about the members is
      // recorded until the commit.
      await lockGroupsOf(tx, id);
      await lockMembers(tx, id);
      // Apps before their client, as in loads and removals of apps.
      await kysely(tx)
        .selectFrom('apps')
        .select('id')
        .where('client_id', '=', id)
        .orderBy('id')
        .forUpdate()
        .execute();
      const { name, is_open } = await clientOf(tx, id)
        .forUpdate()
        .executeTakeFirstOrThrow(() => notFound('client'));
      if (is_open) throw new Problem('not-closed', { detail: 'Close the client first.' });
      requireConfirmed(confirmName, name);
      const people = (await lockMembers(tx, id)).filter(({ has_no_other }) => has_no_other);
      // After the locks: changes during the wait concern the client, too.
      const now = clock.now();
      const details = { id, ...(await countOfClient(tx, id)) };
      const members = await kysely(tx)
        .selectFrom('memberships')
        .select('user_id')
        .where('client_id', '=', id)
        .execute();

      await kysely(tx).deleteFrom('apps').where('client_id', '=', id).execute();
      await tx.remove(tx.getReference(Client, id)).flush();
      const ids = people.map((person) => person.id);
      await deactivateAll(tx, ids, now);
      for (const admin of people.filter(({ is_admin }) => is_admin))
        await lockAccessChange(tx, admin.id, actor);
      await noteLeft(
        tx,
        members.map((member) => member.user_id),
      );

      const about = { actor, clients: [id] };
      await audit.record(tx, [
        { action: 'client.remove', ...about, target: ofClient({ id, name }), details },
        ...people
          .filter(({ is_active }) => is_active)
          .map((person) => ({ action: 'user.deactivate' as const, ...about, target: ofUser(person) })),
      ]);
    }),
});

/** Keys of the tables of usage, which have no foreign keys. */
const USAGE_KEYS = { usage_entries: 'app_id, occurred_at, id', usage_days: 'app_id, user_id, email, day' };
/** Rows per transaction. */
const BATCH = 1_000n;

/** Deletes the usage of apps that were removed. No one can read it since. */
export const pruneRemovedUsage = async (em: Em, signal?: AbortSignal): Promise<void> => {
  for (const [name, columns] of Object.entries(USAGE_KEYS)) {
    const [table, key] = [sql.table(name), sql.raw(columns)];
    for (const appId of await removedApps(em, table)) {
      const deletion = sql`
        delete from ${table} where (${key}) in (select ${key} from ${table} where app_id = ${appId} limit ${BATCH})`;
      const deleteBatch = async () => (await deletion.execute(kysely(em))).numAffectedRows;
      while (!signal?.aborted && (await deleteBatch()) === BATCH);
    }
  }
};

/** The apps that have rows in the table and do not exist. Looks up each app in the index instead of reading all rows. */
const removedApps = async (em: Em, table: RawBuilder<unknown>): Promise<string[]> => {
  const { rows } = await sql<{ app_id: string }>`
    with recursive used (app_id) as (
      (select app_id from ${table} order by app_id limit 1)
      union all
      select (select t.app_id from ${table} t where t.app_id > used.app_id order by t.app_id limit 1)
      from used where used.app_id is not null)
    select app_id from used
    where app_id is not null
      and not exists (select from apps where apps.id = used.app_id)`.execute(kysely(em));
  return rows.map(({ app_id }) => app_id);
};

const appOf = (em: Em, id: string, now: Date) =>
  kysely(em)
    .selectFrom('apps')
    .select(['slug', 'label', 'client_id', isInMaintenance(now).as('in_maintenance')])
    .where('id', '=', id);

const clientOf = (em: Em, id: number) =>
  kysely(em).selectFrom('clients').select(['name', 'is_open']).where('id', '=', id);

/** One statement deletes all rows of a client, which may be many. */
const liftStatementTimeout = (tx: Em) => sql`set local statement_timeout = 0`.execute(kysely(tx));

/** @throws Problem `invalid-input` on `confirm_name` */
const requireConfirmed = (confirmName: string, name: string): void => {
  if (confirmName !== name) throw invalid({ confirm_name: [`Type the name: ${name}`] });
};

/** @param isCounted a condition on `app_id` */
const countsOfApps = (isCounted: Condition) => [
  countIn('app_grants', isCounted).as('grants'),
  countIn('group_apps', isCounted).as('groups_with_it'),
  countIn('access_requests', isCounted).as('access_requests'),
  countIn('access_views', isCounted).as('access_views'),
  countIn('saved_filters', condition`stack_id in (select id from stacks where ${isCounted})`).as(
    'saved_filters',
  ),
  countIn('loaded_packages', isCounted).as('loads'),
  countEntries('usage_app_days', isCounted).as('usage_entries'),
];

const countOfApp = (em: Em, id: string) =>
  kysely(em)
    .selectNoFrom(countsOfApps(condition`app_id = ${id}`))
    .executeTakeFirstOrThrow();

export const COUNTED_OF_APPS = [
  ...(['grants', 'groups_with_it', 'access_requests', 'access_views'] as const),
  ...(['saved_filters', 'loads', 'usage_entries'] as const),
];

const countOfClient = (em: Em, id: number) => {
  const isOfClient = condition`client_id = ${id}`;
  return kysely(em)
    .selectNoFrom([
      countIn('apps', isOfClient).as('apps'),
      countIn('memberships', isOfClient).as('members'),
      countIn('users', condition`is_active and ${belongsOnlyTo(id)}`).as('deactivated_accounts'),
      countIn('groups', isOfClient).as('groups'),
      countIn('invitations', isOfClient).as('invitations'),
      countIn('outbox_mails', isOfClient).as('mails'),
      ...countsOfApps(condition`app_id in (select id from apps where ${isOfClient})`),
    ])
    .executeTakeFirstOrThrow();
};

export const COUNTED_OF_CLIENTS = [
  ...(['members', 'deactivated_accounts', 'groups', 'invitations', 'mails'] as const),
];

/** Rows of `users` who belong to no other client than this one, and have no role in all clients. */
const belongsOnlyTo = (clientId: number) => condition`(
  not users.is_superuser and not users.is_staff
  and exists (select from memberships m where m.user_id = users.id and m.client_id = ${clientId})
  and not exists (select from memberships m where m.user_id = users.id and m.client_id <> ${clientId}))`;

const lockGroupsOf = (tx: Em, clientId: number) =>
  kysely(tx)
    .selectFrom('groups')
    .select('id')
    .where('client_id', '=', clientId)
    .orderBy('id')
    .forUpdate()
    .execute();

/** Locks the members, in the order of their ids. `has_no_other`: their last membership ends. */
const lockMembers = (tx: Em, clientId: number) =>
  kysely(tx)
    .selectFrom('users')
    .select(['id', 'email', 'is_active'])
    .select([
      condition`exists (select from memberships m where m.user_id = users.id and m.is_admin)`.as('is_admin'),
      belongsOnlyTo(clientId).as('has_no_other'),
    ])
    .where(
      condition`exists (select from memberships m where m.user_id = users.id and m.client_id = ${clientId})`,
    )
    .orderBy('id')
    .forUpdate()
    .execute();

const deactivateAll = async (tx: Em, userIds: readonly number[], now: Date): Promise<void> => {
  await kysely(tx)
    .updateTable('users')
    .set({ is_active: false, last_deactivated: now })
    .where(isAnyOf('id', userIds, 'int'))
    .where('is_active', '=', true)
    .execute();
  await revokeCredentials(tx, userIds);
};
