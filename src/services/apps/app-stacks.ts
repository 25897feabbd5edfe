import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { tables } from '../../db/kysely.ts';
import { cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import type { Actor } from '../access/actor.ts';
import { appRow } from './app-rows.ts';

/** `cursor` is the id of the last stack of the page before. */
type StackPart = PageRequest & { cursor?: string | undefined };

export const createAppStacks = ({ em }: { em: SqlEntityManager }) => ({
  /**
   * The stacks that an app has now, by slug. Those that its package has dropped are left out.
   * @throws Problem `not-found`, `invalid-input` on `cursor`
   */
  list: async (actor: Actor, appId: string, { cursor, ...part }: StackPart): Promise<AppStack[]> => {
    const { id } = await appRow(em, actor, appId);
    const stacks = stackRows(em, id);
    if (cursor === undefined) return readPage(stacks, 'stacks.id', part);
    const { slug } = await cursorRow(stacks.where('stacks.id', '=', cursor));
    return readPage(stacks.where('stacks.slug', '>', slug), 'stacks.id', part);
  },
});

const stackRows = (em: SqlEntityManager, appId: string) =>
  tables(em)
    .selectFrom('stacks')
    .select(['stacks.id', 'stacks.slug', 'stacks.label'])
    .where('stacks.app_id', '=', appId)
    .where('stacks.is_offered', '=', true)
    .orderBy('stacks.slug');

export type AppStack = Awaited<ReturnType<ReturnType<typeof stackRows>['execute']>>[number];
