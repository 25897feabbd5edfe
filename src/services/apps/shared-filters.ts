import { sql } from 'kysely';
import { type Condition, condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { invalid, notFound } from '../../lib/problems.ts';
import { type Actor, requireIn } from '../access/actor.ts';
import { isInScope } from '../access/scope.ts';
import { appVisibleTo, hasGlobalRole, hasOwnAccess } from '../access/visibility.ts';
import { fullName } from '../accounts/user-rows.ts';
import { ofGroup, ofUser } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** The filters that the actor may use: those that others share with the actor, and the defaults of stacks. */
export const createSharedFilters = ({ em, clock, audit }: UnitOfWork) => ({
  /** @throws Problem `invalid-input` on `cursor` */
  list: async (
    actor: Actor,
    stackId: string | undefined,
    page: CursorPageRequest,
  ): Promise<SharedFilter[]> => {
    const now = clock.now();
    const shared = filterRows(em, actor, now).where(isSharedWith(actor, now)).orderBy('saved_filters.id');
    const ofStack = stackId === undefined ? shared : shared.where('stack_id', '=', stackId);
    const rows = await readPage(
      afterCursor(ofStack, 'saved_filters.id', page.cursor),
      'saved_filters.id',
      page,
    );
    const stackIds = new Set(rows.map(({ stack_id }) => stack_id));
    const defaults = await defaultRows(em, actor, now)
      .clearSelect()
      .select('saved_filters.id')
      .where(isAnyOf('d.stack_id', stackIds, 'varchar'))
      .execute();
    const defaultIds = new Set(defaults.map(({ id }) => id));
    return rows.map((row) => ({ ...row, is_default: defaultIds.has(row.id) }));
  },

  /** The default that counts for the actor. @throws Problem `not-found` for a stack that the actor does not see */
  getDefault: async (actor: Actor, stackId: string): Promise<StackDefault> => {
    const now = clock.now();
    await stackRows(em, actor, now, stackId).executeTakeFirstOrThrow(() => notFound('stack'));
    const row = await defaultRows(em, actor, now).where('d.stack_id', '=', stackId).executeTakeFirst();
    if (!row) return { filter: null, group: null };
    const { group, ...filter } = row;
    return { filter: { ...filter, is_default: true }, group };
  },

  /**
   * Sets the default of the actor, or of a group whose people the actor manages.
   * @param filterId null: none
   * @throws Problem `not-found`, `forbidden`, `invalid-input` on `filter`, `group`
   */
  setDefault: (actor: Actor, stackId: string, { filter: id, group: groupId }: NewDefault): Promise<void> =>
    em.transactional(async (tx) => {
      const now = clock.now();
      // Locked like the group and the filter, so that they cannot be removed before the commit.
      const { client_id } = await stackRows(tx, actor, now, stackId)
        .forKeyShare('stacks')
        .executeTakeFirstOrThrow(() => notFound('stack'));
      const group = groupId === undefined ? null : await lockManagedGroup(tx, actor, client_id, groupId);
      if (id !== null) {
        const isUsable = group ? isSharedWithGroup(group.id, now) : isUsableBy(actor, now);
        const found = await lockUsable(tx, actor, now, { id, stackId, isUsable });
        const whom = group ? 'shared with this group' : 'yours or shared with you';
        if (!found) throw invalid({ filter: [`No filter ${id} of this stack is ${whom}.`] });
      }
      await writeDefault(tx, stackId, group ? ['group_id', group.id] : ['user_id', actor.id], id);
      const about = group ? { target: ofGroup(group), clients: [client_id] } : { target: ofUser(actor) };
      const details = { id, stack: stackId, ...(group && { group: group.id }) };
      await audit.record(tx, [{ action: 'saved-filter.set-default', actor, ...about, details }]);
    }),
});

type NewDefault = { filter: number | null; group?: number | undefined };

/** Filters with their owner, of the stacks that the actor sees. */
const filterRows = (em: Em, actor: Actor, now: Date) =>
  kysely(em)
    .selectFrom('saved_filters')
    .innerJoin('stacks', 'stacks.id', 'saved_filters.stack_id')
    .innerJoin('apps', 'apps.id', 'stacks.app_id')
    .innerJoin('users', 'users.id', 'saved_filters.user_id')
    .leftJoin('memberships', (join) =>
      join
        .onRef('memberships.client_id', '=', 'apps.client_id')
        .onRef('memberships.user_id', '=', 'users.id'),
    )
    .select(['saved_filters.id', 'saved_filters.stack_id', 'saved_filters.hash', 'saved_filters.name'])
    .select(['saved_filters.description', 'saved_filters.state', 'saved_filters.state_version as version'])
    .select(['users.email as user', fullName('users').as('full_name')])
    .where(appVisibleTo(actor, now));

type SharedFilter = Awaited<ReturnType<ReturnType<typeof filterRows>['execute']>>[number] & {
  is_default: boolean;
};

/** `group`: whose default it is; null for that of the actor. */
type StackDefault = { filter: SharedFilter | null; group: number | null };

/** SQL: whether the owner of a filter may still open its app. Others share nothing. */
const canOwnerOpen = (now: Date): Condition =>
  condition`(users.is_active and (${hasGlobalRole()} or ${hasOwnAccess(now)}))`;

/** SQL: the ids of the groups of the actor. */
const groupsOf = (actor: Actor) => sql`(select gm.group_id
  from group_members gm join groups gr on gr.id = gm.group_id
    join memberships m on m.client_id = gr.client_id and m.user_id = gm.user_id and m.is_active_member
  where gm.user_id = ${actor.id} and ${isInScope(actor.scope, sql`gr.client_id`)})`;

/** SQL: whether another person shares a filter with the actor. Few filters are shared: PostgreSQL reads only these. */
const isSharedWith = (actor: Actor, now: Date): Condition =>
  condition`(saved_filters.user_id <> ${actor.id} and ${canOwnerOpen(now)} and saved_filters.id in (
    select f.id from saved_filters f where f.is_shared
    union all select s.saved_filter_id from saved_filter_groups s where s.group_id in ${groupsOf(actor)}))`;

const isUsableBy = (actor: Actor, now: Date): Condition =>
  condition`(saved_filters.user_id = ${actor.id} or ${isSharedWith(actor, now)})`;

/** SQL: whether all members of a group who have the app may use a filter. */
const isSharedWithGroup = (groupId: number, now: Date): Condition =>
  condition`(${canOwnerOpen(now)} and (saved_filters.is_shared or exists (select from saved_filter_groups s
    where s.saved_filter_id = saved_filters.id and s.group_id = ${groupId})))`;

/** The default of each stack: that of the actor, or else that of the first group of the actor that has one. */
const defaultRows = (em: Em, actor: Actor, now: Date) =>
  filterRows(em, actor, now)
    .innerJoin('saved_filter_defaults as d', (join) =>
      join.onRef('d.saved_filter_id', '=', 'saved_filters.id').onRef('d.stack_id', '=', 'stacks.id'),
    )
    .select('d.group_id as group')
    .distinctOn('d.stack_id')
    .where(condition`(d.user_id = ${actor.id} or d.group_id in ${groupsOf(actor)})`)
    .where(isUsableBy(actor, now))
    .orderBy('d.stack_id')
    .orderBy('d.group_id', (order) => order.asc().nullsFirst());

/** A stack that the actor sees, also one that its app no longer offers. */
const stackRows = (em: Em, actor: Actor, now: Date, id: string) =>
  kysely(em)
    .selectFrom('stacks')
    .innerJoin('apps', 'apps.id', 'stacks.app_id')
    .select('apps.client_id')
    .where('stacks.id', '=', id)
    .where(appVisibleTo(actor, now));

/** @throws Problem `forbidden`, `invalid-input` on `group` */
const lockManagedGroup = async (tx: Em, actor: Actor, clientId: number, id: number) => {
  requireIn(actor, 'manage-people', clientId);
  return kysely(tx)
    .selectFrom('groups')
    .select(['id', 'name'])
    .where('id', '=', id)
    .where('client_id', '=', clientId)
    .forKeyShare()
    .executeTakeFirstOrThrow(() => invalid({ group: [`The app’s client has no group ${id}.`] }));
};

type Wanted = { id: number; stackId: string; isUsable: Condition };

const lockUsable = (tx: Em, actor: Actor, now: Date, { id, stackId, isUsable }: Wanted) =>
  filterRows(tx, actor, now)
    .clearSelect()
    .select('saved_filters.id')
    .where('saved_filters.id', '=', id)
    .where('saved_filters.stack_id', '=', stackId)
    .where(isUsable)
    .forKeyShare('saved_filters')
    .executeTakeFirst();

/** @param column whose default it is, by this id */
const writeDefault = async (
  tx: Em,
  stackId: string,
  [column, ownerId]: ['group_id' | 'user_id', number],
  id: number | null,
): Promise<void> => {
  const db = kysely(tx);
  const ofStack = db.deleteFrom('saved_filter_defaults').where('stack_id', '=', stackId);
  if (id === null) await ofStack.where(column, '=', ownerId).execute();
  else
    await db
      .insertInto('saved_filter_defaults')
      .values({ stack_id: stackId, saved_filter_id: id, [column]: ownerId })
      .onConflict((conflict) => conflict.columns(['stack_id', column]).doUpdateSet({ saved_filter_id: id }))
      .execute();
};
