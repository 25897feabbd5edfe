import type { Em } from '../../db/kysely.ts';
import { ListStream, type OpenList, type ReadList } from '../../db/list-pages.ts';
import { Problem } from '../../lib/problems.ts';
import { reloadActor } from '../auth/authentication.ts';
import type { Actor } from './actor.ts';

type Source = {
  em: Em;
  readList: ReadList;
  actor: Actor;
  /** Opens the list as an actor sees it. @throws Problem if they may not see it */
  open: (actor: Actor) => Promise<OpenList>;
};

/**
 * Streams a list for as long as the actor may see it.
 * @throws what `open` throws; later, while it is read, also Problem `unauthenticated`
 */
export const openListStream = async ({ em, readList, actor, open }: Source): Promise<ListStream> => {
  const reopen = async () => {
    const current = await reloadActor(em, actor);
    if (!current) throw new Problem('unauthenticated');
    return open(current);
  };
  return new ListStream(readList(await open(actor), reopen));
};
