import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ItemWriter } from '../../../routers/schemas/streamed-items.ts';
import { csvLine } from '../../lib/csv-line.ts';
import type { CsvColumns } from './csv-columns.ts';

type Pages = AsyncIterable<unknown[]>;

export const isPages = (content: unknown): content is Pages =>
  typeof content === 'object' && content !== null && Symbol.asyncIterator in content;

/**
 * Sends a list page by page, as fast as the caller takes it. The first page is read before the status is sent, so
 * that a failure has its own; one that comes later cuts the answer off, which no parser takes for the end of it.
 */
export const sendPages = async (
  request: FastifyRequest,
  reply: FastifyReply,
  pages: Pages,
  form: string,
  writer: ItemWriter,
) => {
  const iterator = pages[Symbol.asyncIterator]();
  const first = await iterator.next();
  reply.type(`${form}; charset=utf-8`);
  if (request.method === 'HEAD') {
    await iterator.return?.();
    // A stream, as GET has: an empty text would be told as a length of 0.
    return reply.send(Readable.from([]));
  }
  const text = form === 'text/csv' ? csvText : jsonText;
  return reply.send(Readable.from(text(allOf(first, iterator), writer), { objectMode: false }));
};

async function* allOf(
  first: IteratorResult<unknown[]>,
  rest: AsyncIterator<unknown[]>,
): AsyncGenerator<unknown[]> {
  try {
    for (let next = first; !next.done; next = await rest.next()) yield next.value;
  } finally {
    // Also when the caller hangs up: whoever makes the pages stops.
    await rest.return?.();
  }
}

async function* jsonText(pages: Pages, writer: ItemWriter): AsyncGenerator<string> {
  const { json } = writer as AnyWriter;
  let before = '[';
  for await (const page of pages) {
    if (page.length === 0) continue;
    yield before + page.map(json).join(',');
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

async function* csvText(pages: Pages, writer: ItemWriter): AsyncGenerator<string> {
  const { csv } = writer as AnyWriter;
  if (!csv) throw new TypeError('a list of pages has a writer of CSV');
  yield csvLine(csv.header);
  for await (const page of pages) yield linesOf(page, csv);
}

export const jsonOf = (items: readonly unknown[], writer: ItemWriter): string =>
  `[${items.map((writer as AnyWriter).json).join(',')}]`;

export const csvOf = (items: readonly unknown[], columns: CsvColumns): string =>
  csvLine(columns.header) + linesOf(items, columns);

const linesOf = (items: readonly unknown[], { cells }: CsvColumns): string =>
  items.map((item) => csvLine(cells(item))).join('');

/** A writer stands beside the output schema of its procedure: its items are what it takes. */
type AnyWriter = ItemWriter<unknown>;
