import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { ChunkQueue } from '../../db/json-stream/chunk-queue.ts';
import { MOST_ROWS, type Place, type Reading, readPieces } from '../../db/json-stream/chunk-reader.ts';
import { type JsonChunk, JsonStream } from '../../db/json-stream/json-stream.ts';
import type { ReadRows } from '../../db/row-cursor.ts';
import { currentDeadline } from '../../lib/deadline.ts';
import { Problem } from '../../lib/problems.ts';
import { reloadActor } from '../auth/identity.ts';
import type { Actor } from './actor.ts';

type Source<K> = {
  em: SqlEntityManager;
  readRows: ReadRows;
  actor: Actor;
  /** @throws whatever refuses the list to the actor */
  prepare: (actor: Actor) => Promise<Reading<K>>;
};

export const mostRows: RawBuilder<number> = sql.lit(MOST_ROWS);
/** A list lasts as long as its reader likes. */
const ASKED_AGAIN_MS = 1_000;

/**
 * The JSON text of a list, by pieces, the next ones being read while one is passed on. Between statements it holds no
 * connection, however slowly they are taken. It ends with the access of whoever reads: that is asked again from time to time.
 * @throws whatever `prepare` throws; later, while it is read, also Problem `unauthenticated`
 */
export const listText = async <K>(source: Source<K>): Promise<JsonStream> =>
  new JsonStream(textPieces(source, await source.prepare(source.actor)));

/** A list that is read ahead holds up to 1.5 MB for a slow reader; one that is not holds 0.3 MB. */
const MOST_AHEAD = 8;
let openLists = 0;

async function* textPieces<K>(
  source: Source<K>,
  prepared: Reading<K>,
  deadline = currentDeadline(),
): AsyncGenerator<JsonChunk> {
  openLists += 1;
  const queue = new ChunkQueue(() => openLists <= MOST_AHEAD);
  fill(queue, source, prepared).catch((error: unknown) => queue.fail(error));
  try {
    for (;;) {
      const piece = await queue.take();
      // A reader takes the rest as slowly as they like.
      deadline?.lift();
      yield piece;
      if (piece.isLast) return;
    }
  } finally {
    openLists -= 1;
    queue.close();
  }
}

const fill = async <K>(queue: ChunkQueue, source: Source<K>, prepared: Reading<K>): Promise<void> => {
  let reading = prepared;
  let preparedAt = performance.now();
  let place: Place<K> = { after: undefined, rowBytes: undefined };
  while (await queue.isWanted()) {
    if (reading.isOutdated?.() || performance.now() - preparedAt > ASKED_AGAIN_MS) {
      reading = await preparedAgain(source);
      preparedAt = performance.now();
    }
    const end = await readPieces(source.readRows, reading, place, queue);
    if (end.isOver) return;
    place = end;
  }
};

const preparedAgain = async <K>({ em, actor, prepare }: Source<K>): Promise<Reading<K>> => {
  const again = await reloadActor(em, actor);
  if (!again) throw new Problem('unauthenticated');
  return prepare(again);
};
