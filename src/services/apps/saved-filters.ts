import { LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { SavedFilter } from '../../../entities/saved-filter.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { afterCursor, cursorRow, readPage } from '../../db/pagination.ts';
import { type FieldErrors, invalid, notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { isInScope } from '../access/scope.ts';
import { appVisibleTo } from '../access/visibility.ts';
import { ofUser } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { ItemPageRequest } from './app-rows.ts';

type SavedFilterInput = { stack_id: string; hash: string; name: string };
/** `version`: the app's own name for the format of the state. */
type NewState = { state: Record<string, unknown>; version: string; description: string };

/** Limit per user. */
const MAX_FILTERS = 1_000;
/** A path of its own: the filters of others. */
const RESERVED_HASH = 'shared';

/** Reads and changes the actor's own filters. Filters of other users are not found. */
export const createSavedFilters = ({ em, clock, audit }: UnitOfWork) => ({
  /** @throws Problem `invalid-input` on `cursor` */
  list: async (actor: Actor, page: ItemPageRequest): Promise<SavedFilterRow[]> =>
    readPage(await filtersAfter(em, actor, page.cursor), 'saved_filters.id', page),

  /**
   * Filters of a stack that an app no longer offers are still listed.
   * @throws Problem `not-found` for a stack that the actor does not see and has no filter of, `invalid-input` on `cursor`
   */
  listByStack: async (actor: Actor, stackId: string, page: ItemPageRequest): Promise<SavedFilterRow[]> => {
    const own = filterRows(em, actor).where('saved_filters.stack_id', '=', stackId);
    const remaining = await filtersAfter(em, actor, page.cursor);
    const ofStack = remaining.where('saved_filters.stack_id', '=', stackId);
    const rows = await readPage(ofStack, 'saved_filters.id', page);
    if (
      rows.length === 0 &&
      !(await own.executeTakeFirst()) &&
      !(await isUsableStack(em, actor, clock.now(), stackId))
    )
      throw notFound('stack');
    return rows;
  },

  /** @throws Problem `not-found` */
  get: (actor: Actor, hash: string): Promise<SavedFilterRow> => readFilter(em, actor, hash),

  /** @throws Problem `invalid-input` on `stack_id`, `hash` */
  create: (actor: Actor, input: SavedFilterInput): Promise<SavedFilterRow> =>
    em.transactional(async (tx) => {
      // Serializes concurrent requests, so that the count is correct.
      await kysely(tx).selectFrom('users').select('id').where('id', '=', actor.id).forNoKeyUpdate().execute();
      await requireValidInput(tx, actor, clock.now(), input);
      const { stack_id: stack, ...fields } = input;
      const now = clock.now();
      const filter = tx.create(SavedFilter, {
        ...fields,
        stack,
        user: actor.id,
        created: now,
        modified: now,
      });
      await tx.flush();
      await audit.record(tx, [eventOf('saved-filter.create', actor, filter)]);
      return readFilter(tx, actor, input.hash);
    }),

  /**
   * May move the filter to another hash or stack. If the stack stays the same, the actor needs access to the app, but the app need not
   * offer the stack any more.
   * @throws Problem `not-found`, `invalid-input` on `stack_id`, `hash`
   */
  replace: (actor: Actor, hash: string, input: SavedFilterInput): Promise<SavedFilterRow> =>
    em.transactional(async (tx) => {
      const filter = await lockFilter(tx, actor, hash);
      await requireValidInput(tx, actor, clock.now(), input, { hash, stackId: filter.stack.id });
      const { stack_id: stack, ...fields } = input;
      if (stack !== filter.stack.id) await leaveStack(tx, filter, stack);
      tx.assign(filter, { ...fields, stack, modified: clock.now() });
      await tx.flush();
      await audit.record(tx, [eventOf('saved-filter.update', actor, filter)]);
      return readFilter(tx, actor, input.hash);
    }),

  /** @throws Problem `not-found` */
  getState: (actor: Actor, hash: string): Promise<FilterState> => readState(em, actor, hash),

  /** @throws Problem `not-found`, `invalid-input` on `stack_id` if the actor can no longer open the app */
  setState: (actor: Actor, hash: string, { state, version, description }: NewState): Promise<FilterState> =>
    em.transactional(async (tx) => {
      const filter = await lockFilter(tx, actor, hash);
      await requireUsableStack(tx, actor, clock.now(), filter.stack.id);
      Object.assign(filter, { state, stateVersion: version, description, modified: clock.now() });
      await tx.flush();
      await audit.record(tx, [eventOf('saved-filter.update', actor, filter)]);
      return readState(tx, actor, hash);
    }),

  /** @throws Problem `not-found` */
  remove: (actor: Actor, hash: string): Promise<void> =>
    em.transactional(async (tx) => {
      const filter = await lockFilter(tx, actor, hash);
      await audit.record(tx, [eventOf('saved-filter.delete', actor, filter)]);
      await tx.remove(filter).flush();
    }),
});

const eventOf = (
  action: `saved-filter.${'create' | 'update' | 'delete'}`,
  actor: Actor,
  { id }: { id: number },
) => {
  return { action, actor, target: ofUser(actor), details: { id } };
};

/** The labels of the stack and of its app. */
const STACK_NAME = sql<string>`stacks.label || ' for ' || apps.label || ' App'`.as('stack');

const filterRows = (em: Em, actor: Actor) =>
  kysely(em)
    .selectFrom('saved_filters')
    .innerJoin('stacks', 'stacks.id', 'saved_filters.stack_id')
    .innerJoin('apps', 'apps.id', 'stacks.app_id')
    .select(['hash', 'saved_filters.name', 'created', 'modified', STACK_NAME])
    .select(({ val }) => val(actor.email).as('user'))
    .where('saved_filters.user_id', '=', actor.id)
    .where(isInScope(actor.scope, sql.ref('apps.client_id')))
    .orderBy('saved_filters.id');

type SavedFilterRow = Awaited<ReturnType<ReturnType<typeof filterRows>['execute']>>[number];

const filtersAfter = async (em: Em, actor: Actor, hash: string | undefined) => {
  const rows = filterRows(em, actor);
  if (hash === undefined) return rows;
  const { id } = await cursorRow(rows.clearSelect().select('saved_filters.id').where('hash', '=', hash));
  return afterCursor(rows, 'saved_filters.id', id);
};

/** A filter of the actor, for columns that the legacy interface does not have. */
export const ownFilter = (em: Em, actor: Actor, hash: string) =>
  filterRows(em, actor).clearSelect().where('hash', '=', hash);

/** The state is null until the app has set it. @throws Problem `not-found` */
const readState = (em: Em, actor: Actor, hash: string) =>
  ownFilter(em, actor, hash)
    .select(['state', 'state_version as version', 'saved_filters.description'])
    .executeTakeFirstOrThrow(() => notFound('saved filter'));

type FilterState = Awaited<ReturnType<typeof readState>>;

/** @throws Problem `not-found` */
const readFilter = (em: Em, actor: Actor, hash: string) =>
  filterRows(em, actor)
    .where('hash', '=', hash)
    .executeTakeFirstOrThrow(() => notFound('saved filter'));

/** @throws Problem `not-found` */
export const lockFilter = async (tx: Em, actor: Actor, hash: string) => {
  await readFilter(tx, actor, hash);
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const filter = await tx.findOne(SavedFilter, { user: actor.id, hash }, { lockMode });
  if (!filter) throw notFound('saved filter');
  return filter;
};

type LockedFilter = Awaited<ReturnType<typeof lockFilter>>;

/** Whether the stack belongs to an app that the actor may see, and the app offers the stack or the filter already uses it. */
const isUsableStack = async (em: Em, actor: Actor, now: Date, stackId: string, presentId?: string) => {
  const found = await kysely(em)
    .selectFrom('stacks')
    .innerJoin('apps', 'apps.id', 'stacks.app_id')
    .select('stacks.is_offered')
    .where('stacks.id', '=', stackId)
    .where(appVisibleTo(actor, now))
    .executeTakeFirst();
  return found !== undefined && (found.is_offered || stackId === presentId);
};

const noStack = (id: string) => ({ stack_id: [`There is no stack ${id} of an app that you can open.`] });

/** Requires that the actor can still open the app of a filter. @throws Problem `invalid-input` on `stack_id` */
export const requireUsableStack = async (em: Em, actor: Actor, now: Date, stackId: string): Promise<void> => {
  if (!(await isUsableStack(em, actor, now, stackId, stackId))) throw invalid(noStack(stackId));
};

/** A filter is the default of its stack only, and is shared only with people of its app. */
const leaveStack = async (tx: Em, filter: LockedFilter, stackId: string): Promise<void> => {
  const db = kysely(tx);
  await db.deleteFrom('saved_filter_defaults').where('saved_filter_id', '=', filter.id).execute();
  const stacks = db.selectFrom('stacks').select('app_id').where('id', 'in', [filter.stack.id, stackId]);
  if ((await stacks.distinct().execute()).length === 1) return;
  filter.isShared = false;
  await db.deleteFrom('saved_filter_groups').where('saved_filter_id', '=', filter.id).execute();
};

type Present = { hash: string; stackId: string };

/** Reports all errors at once. The unique constraint rejects concurrent duplicates of the hash. */
const requireValidInput = async (
  em: Em,
  actor: Actor,
  now: Date,
  input: SavedFilterInput,
  present?: Present,
) => {
  const fields: FieldErrors = {};
  if (!(await isUsableStack(em, actor, now, input.stack_id, present?.stackId)))
    Object.assign(fields, noStack(input.stack_id));
  const own = await kysely(em)
    .selectFrom('saved_filters')
    .select('hash')
    .where('user_id', '=', actor.id)
    .execute();
  if (input.hash !== present?.hash && input.hash === RESERVED_HASH) {
    fields.hash = [`"${RESERVED_HASH}" is reserved. Choose another hash.`];
  } else if (input.hash !== present?.hash && own.some(({ hash }) => hash === input.hash)) {
    fields.hash = ['You already have a saved filter with this hash.'];
  } else if (!present && own.length >= MAX_FILTERS) {
    fields.hash = [`You already have ${MAX_FILTERS} saved filters. Delete one first.`];
  }
  if (Object.keys(fields).length > 0) throw invalid(fields);
};
