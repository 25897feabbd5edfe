import { type Db, tables } from '../../db/kysely.ts';
import { afterCursor, cursorRow, readPage } from '../../db/pagination.ts';
import { type FieldErrors, invalid, notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { appVisibleTo } from '../access/visibility.ts';
import type { AuditAction } from '../audit/audit.ts';
import type { Unit } from '../unit.ts';
import type { ItemPageRequest } from './app-rows.ts';

export type SavedFilterInput = { stack_id: string; hash: string; name: string };

/** Per user. */
const MAX_FILTERS = 1_000;

/** Reads and changes the actor's own filters; those of other users are not found. */
export const createSavedFilters = ({ em, clock, audit }: Unit) => ({
  /** @throws Problem `invalid-input` on `cursor` */
  list: async (actor: Actor, part: ItemPageRequest): Promise<SavedFilterRow[]> =>
    readPage(await filtersAfter(em, actor, part.cursor), 'saved_filters.id', part),

  /**
   * Filters of a stack that an app has dropped are still listed.
   * @throws Problem `not-found` for a stack that the actor neither sees nor has a filter of, `invalid-input` on `cursor`
   */
  listByStack: async (actor: Actor, stackId: string, part: ItemPageRequest): Promise<SavedFilterRow[]> => {
    const own = filterRows(em, actor).where('saved_filters.stack_id', '=', stackId);
    const remaining = await filtersAfter(em, actor, part.cursor);
    const ofStack = remaining.where('saved_filters.stack_id', '=', stackId);
    const rows = await readPage(ofStack, 'saved_filters.id', part);
    if (rows.length === 0 && !(await own.executeTakeFirst()) && !(await isUsableStack(em, actor, stackId)))
      throw notFound('stack');
    return rows;
  },

  /** @throws Problem `not-found` */
  get: (actor: Actor, hash: string): Promise<SavedFilterRow> => filterRow(em, actor, hash),

  /** @throws Problem `invalid-input` on `stack_id`, `hash` */
  create: (actor: Actor, input: SavedFilterInput): Promise<SavedFilterRow> =>
    em.transactional(async (tx) => {
      // Serializes the count of concurrent requests.
      await tables(tx).selectFrom('users').select('id').where('id', '=', actor.id).forNoKeyUpdate().execute();
      await requireValidInput(tx, actor, input);
      const now = clock.now();
      await tables(tx)
        .insertInto('saved_filters')
        .values({ ...input, user_id: actor.id, created: now, modified: now })
        .execute();
      await audit.record(tx, [eventOf('saved-filter.create', actor, input.hash)]);
      return filterRow(tx, actor, input.hash);
    }),

  /**
   * May move the filter to another hash or stack. One that keeps its stack needs access to the app, but the app may have
   * dropped the stack.
   * @throws Problem `not-found`, `invalid-input` on `stack_id`, `hash`
   */
  replace: (actor: Actor, hash: string, input: SavedFilterInput): Promise<SavedFilterRow> =>
    em.transactional(async (tx) => {
      const before = await filterRows(tx, actor)
        .where('hash', '=', hash)
        .forNoKeyUpdate('saved_filters')
        .executeTakeFirst();
      if (!before) throw notFound('saved filter');
      await requireValidInput(tx, actor, input, before);
      await tables(tx)
        .updateTable('saved_filters')
        .set({ ...input, modified: clock.now() })
        .where('user_id', '=', actor.id)
        .where('hash', '=', hash)
        .execute();
      await audit.record(tx, [eventOf('saved-filter.update', actor, input.hash)]);
      return filterRow(tx, actor, input.hash);
    }),

  /** @throws Problem `not-found` */
  remove: (actor: Actor, hash: string): Promise<void> =>
    em.transactional(async (tx) => {
      const removed = await tables(tx)
        .deleteFrom('saved_filters')
        .where('user_id', '=', actor.id)
        .where('hash', '=', hash)
        .executeTakeFirst();
      if (removed.numDeletedRows === 0n) throw notFound('saved filter');
      await audit.record(tx, [eventOf('saved-filter.delete', actor, hash)]);
    }),
});

const eventOf = (action: AuditAction, actor: Actor, hash: string) => {
  return { action, actor, target: actor.email, details: { hash } };
};

const filterRows = (em: Db, actor: Actor) =>
  tables(em)
    .selectFrom('saved_filters')
    .innerJoin('stacks', 'stacks.id', 'saved_filters.stack_id')
    .innerJoin('apps', 'apps.id', 'stacks.app_id')
    .select(['hash', 'stack_id', 'saved_filters.name', 'created', 'modified'])
    .select(['stacks.label as stack_label', 'apps.label as app_label'])
    .where('saved_filters.user_id', '=', actor.id)
    .orderBy('saved_filters.id');

export type SavedFilterRow = Awaited<ReturnType<ReturnType<typeof filterRows>['execute']>>[number];

const filtersAfter = async (em: Db, actor: Actor, hash: string | undefined) => {
  const rows = filterRows(em, actor);
  if (hash === undefined) return rows;
  const { id } = await cursorRow(rows.clearSelect().select('saved_filters.id').where('hash', '=', hash));
  return afterCursor(rows, 'saved_filters.id', id);
};

const filterRow = async (em: Db, actor: Actor, hash: string): Promise<SavedFilterRow> => {
  const row = await filterRows(em, actor).where('hash', '=', hash).executeTakeFirst();
  if (!row) throw notFound('saved filter');
  return row;
};

/** Whether the actor may see the stack's app, and the app offers the stack or the filter already uses it. */
const isUsableStack = async (em: Db, actor: Actor, stackId: string, presentId?: string) => {
  const stack = await tables(em)
    .selectFrom('stacks')
    .innerJoin('apps', 'apps.id', 'stacks.app_id')
    .select('stacks.is_offered')
    .where('stacks.id', '=', stackId)
    .where(appVisibleTo(actor))
    .executeTakeFirst();
  return stack !== undefined && (stack.is_offered || stackId === presentId);
};

/** Reports all errors at once. The unique constraint rejects concurrent duplicates of the hash. */
const requireValidInput = async (em: Db, actor: Actor, input: SavedFilterInput, before?: SavedFilterRow) => {
  const fields: FieldErrors = {};
  if (!(await isUsableStack(em, actor, input.stack_id, before?.stack_id))) {
    fields.stack_id = [`There is no stack ${input.stack_id} of an app that you can open.`];
  }
  const own = await tables(em)
    .selectFrom('saved_filters')
    .select('hash')
    .where('user_id', '=', actor.id)
    .execute();
  if (input.hash !== before?.hash && own.some(({ hash }) => hash === input.hash)) {
    fields.hash = ['You have a saved filter of this hash already.'];
  } else if (!before && own.length >= MAX_FILTERS) {
    fields.hash = [`You already have ${MAX_FILTERS} saved filters. Delete one first.`];
  }
  if (Object.keys(fields).length > 0) throw invalid(fields);
};
