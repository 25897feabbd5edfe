import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { Clock } from '../core/clock.ts';
import { invalid, notFound } from '../core/problems.ts';
import type { Actor } from './actor.ts';
import { isSeenApp } from './app-rows.ts';
import { tables } from './tables.ts';

export type SavedFilterInput = { stack_id: string; hash: string; name: string };

/** Everything here is about the actor's own filters: those of others do not exist. */
export const createSavedFilters = ({ em, clock }: { em: SqlEntityManager; clock: Clock }) => ({
  list: (actor: Actor): Promise<SavedFilterRow[]> => filterRows(em, actor).execute(),

  /**
   * Filters of a stack that an app has dropped are still listed.
   * @throws Problem `not-found` for a stack that the actor neither sees nor has a filter of
   */
  ofStack: async (actor: Actor, stackId: string): Promise<SavedFilterRow[]> => {
    const rows = await filterRows(em, actor).where('saved_filters.stack_id', '=', stackId).execute();
    if (rows.length === 0 && !(await isOfferedStack(em, actor, stackId))) throw notFound('stack');
    return rows;
  },

  /** @throws Problem `not-found` */
  get: (actor: Actor, hash: string): Promise<SavedFilterRow> => filterRow(em, actor, hash),

  /** @throws Problem `invalid-input` on `stack_id`, `hash` */
  create: (actor: Actor, input: SavedFilterInput): Promise<SavedFilterRow> =>
    em.transactional(async (tx) => {
      await refuseForeignStack(tx, actor, input.stack_id);
      const now = clock.now();
      await tables(tx)
        .insertInto('saved_filters')
        .values({ ...input, user_id: actor.id, created: now, modified: now })
        .execute();
      return filterRow(tx, actor, input.hash);
    }),

  /**
   * May move the filter to another hash or stack.
   * @throws Problem `not-found`, `invalid-input` on `stack_id`, `hash`
   */
  replace: (actor: Actor, hash: string, input: SavedFilterInput): Promise<SavedFilterRow> =>
    em.transactional(async (tx) => {
      await filterRow(tx, actor, hash);
      await refuseForeignStack(tx, actor, input.stack_id);
      await tables(tx)
        .updateTable('saved_filters')
        .set({ ...input, modified: clock.now() })
        .where('user_id', '=', actor.id)
        .where('hash', '=', hash)
        .execute();
      return filterRow(tx, actor, input.hash);
    }),

  /** @throws Problem `not-found` */
  remove: async (actor: Actor, hash: string): Promise<void> => {
    const removed = await tables(em)
      .deleteFrom('saved_filters')
      .where('user_id', '=', actor.id)
      .where('hash', '=', hash)
      .executeTakeFirst();
    if (removed.numDeletedRows === 0n) throw notFound('saved filter');
  },
});

const filterRows = (em: SqlEntityManager, actor: Actor) =>
  tables(em)
    .selectFrom('saved_filters')
    .innerJoin('stacks', 'stacks.id', 'saved_filters.stack_id')
    .innerJoin('apps', 'apps.id', 'stacks.app_id')
    .select(['hash', 'saved_filters.name', 'created', 'modified'])
    .select(['stacks.label as stack_label', 'apps.label as app_label'])
    .where('saved_filters.user_id', '=', actor.id)
    .orderBy('saved_filters.id');

export type SavedFilterRow = Awaited<ReturnType<ReturnType<typeof filterRows>['execute']>>[number];

const filterRow = async (em: SqlEntityManager, actor: Actor, hash: string): Promise<SavedFilterRow> => {
  const row = await filterRows(em, actor).where('hash', '=', hash).executeTakeFirst();
  if (!row) throw notFound('saved filter');
  return row;
};

const isOfferedStack = async (em: SqlEntityManager, actor: Actor, stackId: string): Promise<boolean> => {
  const stack = await tables(em)
    .selectFrom('stacks')
    .innerJoin('apps', 'apps.id', 'stacks.app_id')
    .select(sql`1`.as('found'))
    .where('stacks.id', '=', stackId)
    .where('stacks.is_offered', '=', true)
    .where(isSeenApp(actor))
    .executeTakeFirst();
  return stack !== undefined;
};

const refuseForeignStack = async (em: SqlEntityManager, actor: Actor, stackId: string): Promise<void> => {
  if (!(await isOfferedStack(em, actor, stackId))) {
    throw invalid({ stack_id: [`There is no stack ${stackId} of an app that you can open.`] });
  }
};
