import { LockMode } from '@mikro-orm/postgresql';
import { type InferResult, sql } from 'kysely';
import { Client } from '../../../entities/client.ts';
import { LISTS, type List, ListView } from '../../../entities/list-view.ts';
import { condition, type Em, kysely, pickDefined } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { invalid, notFound, roleRequired } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { type Action, can, rolesThatMay } from '../access/permissions.ts';
import { isAllowedIn } from '../access/visibility.ts';
import {
  type ActionOn,
  diffColumns,
  type Happening,
  isEmpty,
  ofUser,
  withoutValues,
} from '../audit/audit.ts';
import { readManagedClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

export { LISTS };

type Search = Record<string, unknown>;
type ViewInput = { list: List; name: string; search: Search; client: number | null; is_shared: boolean };
type ViewChanges = { [K in keyof Omit<ViewInput, 'list'>]?: ViewInput[K] | undefined };
type Filter = { list?: List | undefined; client?: number | undefined; is_pinned?: boolean | undefined };

/** Limit per author. */
const MAX_VIEWS = 200;

/** What someone must be allowed to do in a client to see a list of its rows. */
const needed = (list: List): Action => (list === 'audit' ? 'read-audit' : 'view');

/**
 * Saved views of lists. Authors see their own. A shared one is seen by those who see the list in its client, and changed by its author and by
 * those who configure the client. A view of all clients belongs to the account of its author, which a confined credential does not reach.
 */
export const createListViews = ({ em, clock, audit }: UnitOfWork) => {
  const record = (
    tx: Em,
    actor: Actor,
    before: ListViewRow,
    change: Happening<ActionOn<'list-view'>>,
    after: ListViewRow = before,
  ) => {
    const target = ofUser({ id: before.user_id, email: before.author });
    // Private views concern no client.
    const shared = [before, after].filter((view) => view.is_shared);
    const clients = [...new Set(shared.flatMap(({ client }) => client ?? []))];
    return audit.record(tx, [{ ...change, actor, target, clients }]);
  };

  /** Locks a view that the actor may change. @throws Problem `not-found`, `forbidden` */
  const lock = async (tx: Em, actor: Actor, id: number) => {
    await readView(tx, actor, id);
    const view = await tx.findOne(ListView, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!view) throw notFound('view');
    const before = await readView(tx, actor, id);
    if (!before.can_change) throw roleRequired(`${rolesThatMay('configure')}, in client ${before.client}`);
    return { view, before };
  };

  /** @throws Problem `not-found`, `forbidden`, `invalid-input` on `client` */
  const requireClient = async (
    tx: Em,
    actor: Actor,
    { list, client, is_shared }: Omit<ViewInput, 'name'>,
  ) => {
    if (client !== null) await readManagedClient(tx, actor, client, needed(list));
    else if (is_shared) throw invalid({ client: ['Name the client in which the view is shared.'] });
    else if (actor.scope.only !== null)
      throw invalid({ client: [`Must be ${actor.scope.only}: your login counts in this client only.`] });
  };

  return {
    list: (actor: Actor, { list, client, is_pinned }: Filter, page: CursorPageRequest) => {
      let rows = viewRows(em, actor);
      if (list !== undefined) rows = rows.where('v.list', '=', list);
      if (client !== undefined)
        rows = rows.where(condition`(v.client_id = ${client}::int or v.client_id is null)`);
      if (is_pinned !== undefined) rows = rows.where(condition`${isPinnedBy(actor)} = ${is_pinned}`);
      return readPage(afterCursor(rows, 'v.id', page.cursor), 'v.id', page);
    },

    /** @throws Problem `not-found`, `forbidden`, `invalid-input` on `list`, `client` */
    create: (actor: Actor, input: ViewInput): Promise<ListViewRow> =>
      em.transactional(async (tx) => {
        const { client, is_shared: isShared, ...fields } = input;
        if (!can(actor, needed(input.list))) throw roleRequired(rolesThatMay(needed(input.list)));
        await requireClient(tx, actor, input);
        // Serializes concurrent requests, so that the count is correct.
        await kysely(tx)
          .selectFrom('users')
          .select('id')
          .where('id', '=', actor.id)
          .forNoKeyUpdate()
          .execute();
        if ((await tx.count(ListView, { user: actor.id })) >= MAX_VIEWS)
          throw invalid({ list: [`You already have ${MAX_VIEWS} views. Delete one first.`] });
        const now = clock.now();
        const created = tx.create(ListView, {
          ...fields,
          user: actor.id,
          client: client === null ? null : tx.getReference(Client, client),
          isShared,
          createdAt: now,
          modifiedAt: now,
        });
        await tx.flush();
        const row = await readView(tx, actor, created.id);
        await record(tx, actor, row, { action: 'list-view.create', details: { id: row.id, list: row.list } });
        return row;
      }),

    /** @throws Problem `not-found`, `forbidden`, `invalid-input` on `client` */
    update: (actor: Actor, id: number, changes: ViewChanges): Promise<ListViewRow> =>
      em.transactional(async (tx) => {
        const { view, before } = await lock(tx, actor, id);
        const { client = before.client, is_shared: isShared = before.is_shared, ...fields } = changes;
        if (client !== before.client || isShared !== before.is_shared)
          await requireClient(tx, actor, { ...before, client, is_shared: isShared });
        if (client !== before.client && !before.is_own) await requireConfigured(tx, actor, client);
        Object.assign(view, pickDefined(fields), { isShared, modifiedAt: clock.now() });
        view.client = client === null ? null : tx.getReference(Client, client);
        await tx.flush();
        // Someone else who stops sharing a view does not see it any more.
        const after = {
          ...before,
          ...pickDefined(fields),
          client,
          is_shared: isShared,
          modified_at: view.modifiedAt,
        };
        const changed = diffColumns(before, after, ['name', 'search', 'client', 'is_shared']);
        // Names and searches may contain names of people.
        const details = { id, list: before.list, ...withoutValues(changed) };
        if (!isEmpty(changed))
          await record(tx, actor, before, { action: 'list-view.update', details }, after);
        return after;
      }),

    /** @throws Problem `not-found`, `forbidden` */
    remove: (actor: Actor, id: number): Promise<void> =>
      em.transactional(async (tx) => {
        const { view, before } = await lock(tx, actor, id);
        await record(tx, actor, before, { action: 'list-view.delete', details: { id, list: before.list } });
        await tx.remove(view).flush();
      }),

    /** Shows the view in the navigation of the actor, or not. @throws Problem `not-found` */
    pin: (actor: Actor, id: number, isPinned: boolean): Promise<ListViewRow> =>
      em.transactional(async (tx) => {
        const before = await readView(tx, actor, id);
        // From the view, because it may just have been deleted.
        const change = isPinned
          ? sql`insert into list_view_pins (list_view_id, user_id)
              select id, ${actor.id}::int from list_views where id = ${id} for key share
              on conflict do nothing returning user_id`
          : sql`delete from list_view_pins where list_view_id = ${id} and user_id = ${actor.id} returning user_id`;
        if ((await change.execute(kysely(tx))).rows.length > 0) {
          const details = { id, list: before.list, is_pinned: isPinned };
          await record(tx, actor, before, { action: 'list-view.pin', details });
        }
        return { ...before, is_pinned: isPinned };
      }),
  };
};

/** @throws Problem `not-found`, `forbidden`, `invalid-input` on `client` */
const requireConfigured = async (tx: Em, actor: Actor, client: number | null): Promise<void> => {
  if (client === null) throw invalid({ client: ['Only the author can take the view out of its client.'] });
  await readManagedClient(tx, actor, client, 'configure');
};

const isPinnedBy = (actor: Actor) => condition`
  exists (select from list_view_pins p where p.list_view_id = v.id and p.user_id = ${actor.id})`;

/** The views that the actor sees. `author` is for the audit trail. */
const viewRows = (em: Em, actor: Actor) => {
  const isOwn = condition`v.user_id = ${actor.id}`;
  const isOfClient = sql.join(
    LISTS.map((list) => sql`v.list = ${list} and ${isAllowedIn(sql`v.client_id`, actor, needed(list))}`),
    sql` or `,
  );
  return kysely(em)
    .selectFrom('list_views as v')
    .innerJoin('users as u', 'u.id', 'v.user_id')
    .select(['v.id', 'v.list', 'v.name', 'v.client_id as client', 'v.is_shared', 'v.search'])
    .select(['v.created_at', 'v.modified_at', 'v.user_id', 'u.email as author'])
    .select([isOwn.as('is_own'), isPinnedBy(actor).as('is_pinned')])
    .select(condition`(${isOwn} or ${isAllowedIn(sql`v.client_id`, actor, 'configure')})`.as('can_change'))
    .where(condition`(${isOwn} or v.is_shared)`)
    .where(
      condition`case when v.client_id is null then ${actor.scope.only === null} else (${isOfClient}) end`,
    )
    .orderBy('v.id');
};

export type ListViewRow = InferResult<ReturnType<typeof viewRows>>[number];

/** @throws Problem `not-found` */
const readView = (em: Em, actor: Actor, id: number): Promise<ListViewRow> =>
  viewRows(em, actor)
    .where('v.id', '=', id)
    .executeTakeFirstOrThrow(() => notFound('view'));
