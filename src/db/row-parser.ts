import { createRequire } from 'node:module';
import pg from 'pg';

/** `DataRow` of PostgreSQL's protocol. */
const DATA_ROW = 68;

type HandlePacket = (this: object, offset: number, code: number, length: number, bytes: Buffer) => object;
type ParserClass = { prototype: { handlePacket: HandlePacket } };

/** A row that arrived, where it lies: `fields` are made of it for those who ask. It is good until its handler returns. */
export type RowMessage = { bytes: Buffer; offset: number };

let isDone = false;

/**
 * Has the driver leave rows as the bytes that they are. Its parser makes a string of every column before a query can say that
 * it needs none, which takes longer than all the rest of a list. Other queries get the same fields as ever, when they look.
 */
export const leaveRowsAsBytes = (): void => {
  if (isDone) return;
  isDone = true;
  // The copy that `pg` itself uses; it has no types for its inside.
  const { Parser } = createRequire(createRequire(import.meta.url).resolve('pg'))(
    'pg-protocol/dist/parser.js',
  ) as { Parser: ParserClass };
  const { handlePacket } = Parser.prototype;
  if (typeof handlePacket !== 'function') throw new TypeError('pg-protocol has no Parser.handlePacket');
  Parser.prototype.handlePacket = function (offset, code, length, bytes) {
    if (code !== DATA_ROW) return handlePacket.call(this, offset, code, length, bytes);
    return new Row(this, handlePacket, offset, length, bytes);
  };
};

class Row implements RowMessage {
  readonly name = 'dataRow';
  length: number;
  bytes: Buffer;
  offset: number;
  #parser: object;
  #handle: HandlePacket;

  constructor(parser: object, handle: HandlePacket, offset: number, length: number, bytes: Buffer) {
    this.#parser = parser;
    this.#handle = handle;
    this.offset = offset;
    this.length = length;
    this.bytes = bytes;
  }

  get fields(): unknown {
    const message = this.#handle.call(this.#parser, this.offset, DATA_ROW, this.length, this.bytes);
    return (message as { fields: unknown }).fields; // what a row has
  }
}

/** What `pg` has of a query and its types do not tell. */
export type Wire = { sync: () => void; stream: { cork: () => void; uncork: () => void } };
type QueryInside = {
  new (
    config: object,
  ): {
    rows: number;
    _getRows(connection: Wire, rows: number): void;
    handleError(error: Error, connection: Wire): void;
  };
};

export const QueryClass = pg.Query as unknown as QueryInside; // see above
