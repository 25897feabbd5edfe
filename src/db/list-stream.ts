import { decodeRow, type ReadTextRows, type Statement, type TextRow } from './text-rows.ts';

/** How the rows of a list become text, such as JSON or CSV. */
export type RowEncoder<Column extends string = string> = {
  /** The columns to select, in the order in which `encode` expects them. */
  columns: readonly Column[];
  /** The text of a row, whose columns start at `offset`. Like the columns, it has one character for each byte. */
  encode: (row: TextRow, offset: number) => string;
  /** The text before the first row, between two rows, and after the last one: ASCII. */
  start: string;
  separator: string;
  end: string;
};

/** A list that is read in pages by key, as seen by a user who may see it. */
export type OpenList = Pick<RowEncoder, 'start' | 'separator' | 'end'> & {
  /** Selects up to `limit` rows after the last row of the previous page. */
  statement: (after: TextRow | undefined, limit: PageSize) => Statement;
  encode: (row: TextRow) => string;
  /** Whether rows refer to what did not exist when the list was opened. Then it is opened and the page is read again. */
  isOutdated?: () => boolean;
};

export type ListChunk = {
  text: Buffer;
  isLast: boolean;
  /** Call it when the text is no longer needed, so that its memory is reused at once, without a garbage collection. */
  release: () => void;
};

/** A list as text, which is the chunks together. */
export class ListStream {
  readonly chunks: AsyncIterable<ListChunk>;

  constructor(chunks: AsyncIterable<ListChunk>) {
    this.chunks = chunks;
  }
}

/** Literals, not parameters: PostgreSQL plans for the limit. Each size is a prepared statement. */
const PAGE_SIZES = [10, 50, 250, 1_000, 2_000] as const;
export type PageSize = (typeof PAGE_SIZES)[number];
/** Most lists end here. */
const FIRST_PAGE_SIZE = 250;

const CHUNK_BYTES = 128 * 1024;
/** 8 MiB. */
const MAX_FREE_BUFFERS = 64;
/**
 * The first lists keep one page in memory beyond the page that is being sent; the others read small pages, one at a time. Rows
 * that exceed the size of a page are discarded and read again.
 */
const MAX_READ_AHEAD_LISTS = 8;
const READ_AHEAD_PAGE_BYTES = 1024 * 1024;
const SMALL_PAGE_BYTES = 256 * 1024;
/** How long an answer about the reader's access stays valid. */
const REOPEN_MS = 1_000;

let openLists = 0;

/**
 * Reads a list page by page and encodes it. The next page is read while one is sent. No connection is held between pages,
 * however slow the reader is.
 *
 * @param reopen checks the reader's access and opens the list again; called every second while the list is read
 * @throws what `reopen` throws
 */
export async function* streamList(
  readRows: ReadTextRows,
  opened: OpenList,
  reopen: () => Promise<OpenList>,
): AsyncGenerator<ListChunk> {
  let list = opened;
  let openedAt = performance.now();

  const readPage = async (previous: Page | undefined): Promise<Page> => {
    let isStale = performance.now() - openedAt > REOPEN_MS;
    for (;;) {
      if (isStale) {
        list = await reopen();
        openedAt = performance.now();
      }
      const size = previous ? pageSizeAfter(previous) : FIRST_PAGE_SIZE;
      const page = new Page(list, previous === undefined);
      await readRows(list.statement(previous?.last, size), (row) => page.add(row));
      isStale = list.isOutdated?.() === true;
      if (isStale) continue;
      page.end(size);
      return page;
    }
  };

  let isOpen = true;
  const close = () => {
    if (isOpen) openLists -= 1;
    isOpen = false;
  };
  openLists += 1;
  try {
    let next: Promise<Page> | undefined = readPage(undefined);
    while (next) {
      const page: Page = await next;
      const isReadAhead = !page.isLast && openLists <= MAX_READ_AHEAD_LISTS;
      next = isReadAhead ? readPage(page) : undefined;
      // The failure is reported when the page is awaited; if the reader leaves before, never.
      next?.catch(() => undefined);
      // Callers may stop at the last chunk.
      if (page.isLast) close();
      yield* page.chunks;
      if (!page.isLast) next ??= readPage(page);
    }
  } finally {
    close();
  }
}

const freeBuffers: Buffer[] = [];

const takeBuffer = (minBytes: number): Buffer =>
  minBytes > CHUNK_BYTES
    ? Buffer.allocUnsafe(minBytes)
    : (freeBuffers.pop() ?? Buffer.allocUnsafe(CHUNK_BYTES));

const releaseBuffer = (buffer: Buffer): void => {
  if (buffer.length === CHUNK_BYTES && freeBuffers.length < MAX_FREE_BUFFERS) freeBuffers.push(buffer);
};

/** Encodes the rows of a page as they arrive. Each is copied at once, so that its strings die young. */
class Page {
  readonly chunks: ListChunk[] = [];
  isLast = false;
  bytes = 0;
  rowCount = 0;
  #last: TextRow | undefined;
  readonly #list: OpenList;
  readonly #maxBytes = maxPageBytes();
  #isCut = false;
  #prefix: string;
  #buffer = takeBuffer(0);
  #length = 0;

  constructor(list: OpenList, isFirst: boolean) {
    this.#list = list;
    this.#prefix = isFirst ? '' : list.separator;
    if (isFirst) this.#write(list.start);
  }

  add(row: TextRow): void {
    this.#isCut ||= this.bytes + this.#length >= this.#maxBytes;
    if (this.#isCut) return;
    this.#write(this.#prefix + this.#list.encode(row));
    this.#prefix = this.#list.separator;
    this.rowCount += 1;
    this.#last = row;
  }

  /** The texts of the last row. */
  get last(): TextRow | undefined {
    return this.#last && decodeRow(this.#last);
  }

  /** @param size the number of rows that were requested: fewer rows are the last ones */
  end(size: PageSize): void {
    this.isLast = !this.#isCut && this.rowCount < size;
    if (this.isLast) this.#write(this.#list.end);
    this.#endChunk();
  }

  #write(text: string): void {
    if (this.#length + text.length > this.#buffer.length) {
      if (this.#length > 0) this.#endChunk();
      else releaseBuffer(this.#buffer);
      this.#buffer = takeBuffer(text.length);
    }
    this.#length += this.#buffer.write(text, this.#length, 'latin1');
  }

  #endChunk(): void {
    const buffer = this.#buffer;
    const text = buffer.subarray(0, this.#length);
    this.chunks.push({ text, isLast: this.isLast, release: () => releaseBuffer(buffer) });
    this.bytes += this.#length;
    this.#length = 0;
  }
}

/** The largest page that is expected to fit, judging by the rows before. */
const pageSizeAfter = ({ bytes, rowCount }: Page): PageSize => {
  const maxRows = (maxPageBytes() / bytes) * rowCount;
  return PAGE_SIZES.findLast((size) => size <= maxRows) ?? PAGE_SIZES[0];
};

const maxPageBytes = (): number =>
  openLists <= MAX_READ_AHEAD_LISTS ? READ_AHEAD_PAGE_BYTES : SMALL_PAGE_BYTES;
