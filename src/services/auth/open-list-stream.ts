import { ListStream, type OpenList } from '../../db/list-pages.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { reloadActor } from './authentication.ts';

/**
 * Streams a list for as long as the actor may see it.
 * @param open opens the list as an actor sees it, or throws a Problem
 * @throws the problems of `open`; while the list is read, also Problem `unauthenticated`
 */
export const openListStream = async (
  { em, readList }: Pick<UnitOfWork, 'em' | 'readList'>,
  actor: Actor,
  open: (actor: Actor) => Promise<OpenList>,
): Promise<ListStream> => {
  const reopen = async () => {
    const current = await reloadActor(em, actor);
    if (!current) throw new Problem('unauthenticated');
    return open(current);
  };
  return new ListStream(readList(await open(actor), reopen));
};
