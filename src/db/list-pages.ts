import { once } from 'node:events';
import {
  type Compilable,
  createQueryId,
  type OperationNodeSource,
  PostgresQueryCompiler,
  type RootOperationNode,
} from 'kysely';
import pLimit from 'p-limit';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { telemetry } from '../lib/telemetry.ts';
import { endWith, tracing } from '../lib/tracing.ts';

/** The columns of a row as PostgreSQL writes them; null for NULL. */
export type TextRow = (string | null)[];

/** Converts the rows of a list to text, such as JSON or CSV. */
export type RowEncoder<Column extends string = string> = {
  /** The columns to select, in the order in which `encode` expects them. */
  columns: readonly Column[];
  /** The text of a row, which may have further columns. */
  encode: (row: TextRow) => string;
  /**
   * The encoding of the texts. With `latin1`, each byte of UTF-8 is a character, which is much cheaper. Only for an `encode` that looks for
   * ASCII, adds ASCII, and returns all other characters unchanged.
   */
  encoding: 'utf8' | 'latin1';
  /** The text before the first row, between two rows, and after the last one. */
  start: string;
  separator: string;
  end: string;
};

type Query = Compilable & OperationNodeSource;

/** A list that is ordered by a key, as seen by a user who may see it. */
export type OpenList = {
  encoder: RowEncoder;
  /** Selects the columns of the encoder, then the columns of the key, of up to `limit` rows after the row with the key `after`. */
  page: (after: readonly string[] | undefined, limit: number) => Query;
};

/** The texts of some rows of a list. */
export type ListChunk = { texts: readonly Buffer[]; isLast: boolean };

/** A list as text: the texts of its pages, concatenated. */
export class ListStream {
  readonly pages: AsyncIterable<ListChunk>;

  constructor(pages: AsyncIterable<ListChunk>) {
    this.pages = pages;
  }
}

/** Used until rows have been read. The size of a user's row. */
const ASSUMED_ROW_BYTES = 512;
const MIN_PAGE_ROWS = 10;
const MAX_PAGE_ROWS = 2_000;
/** Target size of a page, estimated from earlier rows. With smaller pages, planning queries costs more than reading rows. */
const MAX_PAGE_BYTES = 1024 * 1024;
/** Lower limit, also with many slow readers: smaller pages would make all lists slow. */
const MIN_PAGE_BYTES = 64 * 1024;
/** Shared by all lists that are being read: each holds a page until its reader takes the next one. */
const ALL_PAGES_BYTES = 8 * 1024 * 1024;
/** Share of the pool's connections that may read lists at the same time. The others stay free for short requests. */
const POOL_SHARE = 0.4;

/**
 * Reads a list page by page, on demand: a slow reader costs the memory of a page, and no connection.
 * @param reopen checks the reader's access and opens the list again, before each page but the first
 * @throws the errors of `reopen`
 */
export type ReadList = (opened: OpenList, reopen: () => Promise<OpenList>) => AsyncGenerator<ListChunk>;

export const createListReader = (pool: pg.Pool): ReadList => {
  const limit = pLimit(Math.max(1, Math.floor(pool.options.max * POOL_SHARE)));
  let readers = 0;

  return async function* (opened, reopen) {
    let texts: readonly Buffer[];
    readers += 1;
    try {
      let rowBytes = ASSUMED_ROW_BYTES;
      let after: string[] | undefined;
      for (;;) {
        const list = after ? await reopen() : opened;
        const shareBytes = ALL_PAGES_BYTES / readers;
        const pageBytes = Math.max(MIN_PAGE_BYTES, Math.min(MAX_PAGE_BYTES, shareBytes));
        const fitting = Math.floor(pageBytes / rowBytes);
        const rows = Math.max(MIN_PAGE_ROWS, Math.min(MAX_PAGE_ROWS, fitting));
        const page = await limit(readChunk, pool, list, { after, rows, pageBytes });
        texts = page.texts;
        if (page.isLast) break;
        yield { texts, isLast: false };
        after = page.key;
        rowBytes = page.bytes / page.rows;
      }
    } finally {
      readers -= 1;
    }
    // After the count: readers of the last page need not ask for another one.
    yield { texts, isLast: true };
  };
};

type PageStart = { after: string[] | undefined; rows: number; pageBytes: number };

/** Reads up to `rows` rows after the row with this key. Rows beyond twice `pageBytes` are discarded; the next page reads them again. */
const readChunk = async (
  pool: pg.Pool,
  { encoder, page }: OpenList,
  { after, rows: limit, pageBytes }: PageStart,
) => {
  const { columns, encode, encoding, start, separator, end } = encoder;
  const texts = after ? [] : [Buffer.from(start)];
  let prefix = after ? separator : '';
  let bytes = 0;
  let rows = 0;
  let lastLine = '';
  const total = await copyLines(pool, page(after, limit), encoding, (lines) => {
    if (bytes > 2 * pageBytes) return;
    let text = '';
    for (const line of lines) {
      text += prefix + encode(decodeLine(line));
      prefix = separator;
    }
    rows += lines.length;
    lastLine = lines.at(-1) ?? lastLine;
    const encoded = Buffer.from(text, encoding);
    bytes += encoded.length;
    texts.push(encoded);
  });
  const isLast = rows === total && total < limit;
  if (isLast) texts.push(Buffer.from(end));
  // Keys are not null.
  const key = decodeLine(lastLine)
    .slice(columns.length)
    .map((column) => Buffer.from(`${column}`, encoding).toString());
  return { texts, isLast, rows, bytes, key };
};

/** Parses a column of type `timestamptz` with any year and time zone. */
export const parseInstant: (text: string) => Date = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);

/** Constants from "Text Format" of COPY in PostgreSQL's manual. */
const NULL = '\\N';
const ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

const decodeLine = (line: string): TextRow => {
  const row: TextRow = line.split('\t');
  if (!line.includes('\\')) return row;
  return row.map((column) => (column?.includes('\\') ? decodeColumn(column) : column));
};

/** A loop, because a regular expression would take longer than all other work on the row. */
const decodeColumn = (text: string): string | null => {
  if (text === NULL) return null;
  let decoded = '';
  let start = 0;
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', start)) {
    const sign = text[at + 1] ?? '';
    decoded += text.slice(start, at) + (ESCAPES[sign] ?? sign);
    start = at + 2;
  }
  return decoded + text.slice(start);
};

/** Reads the rows of a query as lines in the text format of COPY, and returns their number. */
const copyLines = async (
  pool: pg.Pool,
  query: Query,
  encoding: BufferEncoding,
  onLines: OnLines,
): Promise<number> => {
  telemetry.roundTrip.publish(() => ({ statements: 1 }));
  const span = tracing.startStatement(() => query.compile().sql);
  const client = await pool.connect();
  const [copied] = await Promise.allSettled([
    endWith(span, copyFrom(client, toLiteralSql(query), encoding, onLines)),
  ]);
  // After a failure, the connection may still be sending rows.
  client.release(copied.status === 'rejected');
  if (copied.status === 'rejected') throw copied.reason;
  return copied.value;
};

type OnLines = (lines: readonly string[]) => void;

const copyFrom = async (
  client: pg.PoolClient,
  sql: string,
  encoding: BufferEncoding,
  onLines: OnLines,
): Promise<number> => {
  // `pg` ends the time limit of a query in its callback, which pg-copy-streams does not call.
  const rows = Object.assign(copyTo(`copy (${sql}) to stdout`), { callback: () => {} });
  // The stream ends before the server is ready for the next statement. The connection may be lost in between.
  const isReady = once(client, 'drain');
  client.query(rows);
  try {
    await Promise.all([splitLines(rows.setEncoding(encoding), onLines), isReady]);
    return rows.rowCount;
  } finally {
    rows.callback();
  }
};

const splitLines = async (texts: AsyncIterable<string>, onLines: OnLines): Promise<void> => {
  let rest = '';
  for await (const text of texts) {
    const lines = text.split('\n');
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    if (lines.length > 0) onLines(lines);
  }
};

/** COPY takes no parameters. */
const toLiteralSql = (query: OperationNodeSource): string =>
  // Must be a select: COPY cannot copy the rows of other statements.
  new LiteralCompiler().compileQuery(query.toOperationNode() as RootOperationNode, createQueryId()).sql;

class LiteralCompiler extends PostgresQueryCompiler {
  protected override appendValue(value: unknown): void {
    this.append(literalOf(value));
  }
}

/** A literal without a type: PostgreSQL infers its type as for a parameter. */
const literalOf = (value: unknown): string => {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return `array[${value.map(literalOf).join(',')}]`;
  if (value instanceof Date) return pg.escapeLiteral(value.toISOString());
  if (typeof value === 'object') throw new TypeError('Objects are not supported as values of lists.');
  return pg.escapeLiteral(String(value));
};
