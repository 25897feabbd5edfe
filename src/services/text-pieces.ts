import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { ReadRows, Statement } from '../adapters/database-rows.ts';
import { JsonText } from '../core/json-text.ts';
import { ListText, type TextPiece } from '../core/list-text.ts';
import { Problem } from '../core/problems.ts';
import type { RawRow } from '../core/raw-row.ts';
import type { Actor } from './actor.ts';
import { actorAgain } from './logins/identity.ts';

/** How a list is read and written, as an actor sees it. */
export type Reading<K> = {
  /** Its rows behind a key, by key, no more than `MOST_ROWS`. */
  statement: (after: K | undefined) => Statement;
  /** Writes a row, and answers its key. */
  write: (row: RawRow, out: JsonText) => K;
  /** Whether rows named what was not there when the reading was prepared: then it is to be prepared anew, and they read again. */
  isOutdated?: () => boolean;
};

type Source<K> = {
  em: SqlEntityManager;
  readRows: ReadRows;
  actor: Actor;
  /** @throws whatever refuses the list to the actor */
  prepare: (actor: Actor) => Promise<Reading<K>>;
};

/** Each costs a statement, and is held while it is sent, with the next one. */
const PIECE_BYTES = 512 * 1024;
const FIRST_PIECE_BYTES = 16 * 1024;
/** Of one statement: the planner is to look for the first of them, and not for the fastest way to all. */
const MOST_ROWS = 2_000;
export const mostRows: RawBuilder<number> = sql.lit(MOST_ROWS);
/** How many rows are asked for before it is known how large they are: each may have 64 KiB and more. */
const FIRST_ROWS = 100;
/** A list lasts as long as its reader likes. */
const ASKED_AGAIN_MS = 1_000;

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

/**
 * The JSON text of a list, by pieces of some 512 KiB, the next one being read while one is passed on. Between them it holds no
 * connection, however slowly they are taken. It ends with the access of whoever reads: that is asked again from time to time.
 * @throws whatever `prepare` throws; later, while it is read, also Problem `not-signed-in`
 */
export const listText = async <K>(source: Source<K>): Promise<ListText> =>
  new ListText(textPieces(source, await source.prepare(source.actor)));

async function* textPieces<K>(source: Source<K>, prepared: Reading<K>): AsyncGenerator<TextPiece> {
  let reading = prepared;
  let preparedAt = performance.now();
  const prepareAgain = async () => {
    const actor = await actorAgain(source.em, source.actor);
    if (!actor) throw new Problem('not-signed-in');
    reading = await source.prepare(actor);
    preparedAt = performance.now();
  };
  let rowBytes: number | undefined;
  const read = async (after: K | undefined): Promise<Piece<K>> => {
    if (performance.now() - preparedAt > ASKED_AGAIN_MS) await prepareAgain();
    for (;;) {
      const piece = await readPiece(source.readRows, reading, { after, rowBytes });
      rowBytes = piece.rowBytes;
      if (!reading.isOutdated?.()) return piece;
      await prepareAgain();
    }
  };

  let next = read(undefined);
  for (;;) {
    const { piece, last } = await next;
    if (!piece.isLast) {
      next = read(last);
      // Awaited when it is its turn, or never, if nobody wants the rest.
      next.catch(() => undefined);
    }
    yield piece;
    if (piece.isLast) return;
  }
}

type Place<K> = { after: K | undefined; rowBytes: number | undefined };
type Piece<K> = { piece: TextPiece; last: K | undefined; rowBytes: number | undefined };

const readPiece = async <K>(
  readRows: ReadRows,
  reading: Reading<K>,
  { after, rowBytes: before }: Place<K>,
): Promise<Piece<K>> => {
  const out = new JsonText(after === undefined ? FIRST_PIECE_BYTES : PIECE_BYTES + PIECE_BYTES / 8);
  let last = after;
  let count = 0;
  const rowBytes = () => (count === 0 ? before : out.length / count);
  let first: TextPiece['first'] = null;
  const isAll = await readRows(reading.statement(after), {
    wanted: () => rowsFor(PIECE_BYTES - out.length, rowBytes()),
    onRow: (row) => {
      out.byte(last === undefined ? OPEN_BRACKET : COMMA);
      const from = out.length;
      last = reading.write(row, out);
      first ??= { from, to: out.length };
      count += 1;
    },
  });
  const isLast = isAll && count < MOST_ROWS;
  if (isLast && last === undefined) out.byte(OPEN_BRACKET);
  if (isLast) out.byte(CLOSE_BRACKET);
  return { piece: { text: out.take(), isLast, first }, last, rowBytes: rowBytes() };
};

/** As many as fit if they are like those before; none when there is no room. */
const rowsFor = (roomBytes: number, rowBytes: number | undefined): number => {
  if (roomBytes <= 0) return 0;
  return rowBytes === undefined ? FIRST_ROWS : Math.ceil(roomBytes / rowBytes);
};
