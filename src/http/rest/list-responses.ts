import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ItemWriter } from '../../../routers/schemas/streamed-items.ts';
import { csvLine } from '../../lib/csv-line.ts';
import { csvRecords } from './csv.ts';

type Pages = AsyncIterable<unknown[]>;

export const isPages = (content: unknown): content is Pages =>
  typeof content === 'object' && content !== null && Symbol.asyncIterator in content;

/**
 * Streams a list page by page, as fast as the caller reads. The first page is read before the status is sent, so that its
 * failure has its own status. A later failure aborts the response, which no parser mistakes for the end of the list.
 */
export const sendPages = async (
  request: FastifyRequest,
  reply: FastifyReply,
  pages: Pages,
  type: string,
  writer: ItemWriter,
) => {
  const iterator = pages[Symbol.asyncIterator]();
  const first = await iterator.next();
  reply.type(`${type}; charset=utf-8`);
  if (request.method === 'HEAD') {
    await iterator.return?.();
    // An empty stream, because an empty string would set Content-Length: 0.
    return reply.send(Readable.from([]));
  }
  const write = type === 'text/csv' ? writeCsv : writeJson;
  return reply.send(Readable.from(write(prepend(first, iterator), writer), { objectMode: false }));
};

async function* prepend(
  first: IteratorResult<unknown[]>,
  rest: AsyncIterator<unknown[]>,
): AsyncGenerator<unknown[]> {
  try {
    for (let next = first; !next.done; next = await rest.next()) yield next.value;
  } finally {
    // Stops the source of the pages when the caller disconnects, too.
    await rest.return?.();
  }
}

async function* writeJson(pages: Pages, writer: ItemWriter): AsyncGenerator<string> {
  const { json } = writer as AnyWriter;
  let separator = '[';
  for await (const page of pages) {
    if (page.length === 0) continue;
    yield separator + page.map(json).join(',');
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

async function* writeCsv(pages: Pages, writer: ItemWriter): AsyncGenerator<string> {
  const { csv } = writer as AnyWriter;
  if (!csv) throw new TypeError('A list of pages needs a CSV writer');
  yield csvLine(csv.header);
  for await (const page of pages) yield csvRecords(page, csv);
}

export const toJson = (items: readonly unknown[], writer: ItemWriter): string =>
  `[${items.map((writer as AnyWriter).json).join(',')}]`;

/** The procedure declares the writer together with its output schema, so both have the same item type. */
type AnyWriter = ItemWriter<unknown>;
