import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ListChunk, ListStream } from '../../db/list-stream.ts';

/**
 * Streams a list as fast as the caller reads, or with a `Content-Length` if it is one chunk. The first chunk is read before the
 * status is sent, so that its failure has its own status. A later failure aborts the response, which no parser mistakes for
 * the end of the list.
 */
export const sendListStream = async (
  { method }: FastifyRequest,
  reply: FastifyReply,
  { chunks }: ListStream,
  type: string,
) => {
  const iterator = chunks[Symbol.asyncIterator]();
  const first = await iterator.next();
  reply.type(`${type}; charset=utf-8`);
  if (first.value?.isLast) return reply.send(first.value.text);
  // An empty stream for HEAD, because an empty string would set Content-Length: 0.
  const stream = method === 'HEAD' ? Readable.from([]) : Readable.from(textsOf(first, iterator));
  // Stops the source when the caller disconnects, too.
  stream.once('close', () => void iterator.return?.().catch(() => undefined));
  return reply.send(stream);
};

async function* textsOf(
  first: IteratorResult<ListChunk>,
  rest: AsyncIterator<ListChunk>,
): AsyncGenerator<Buffer> {
  for (let next = first; !next.done; next = await rest.next()) yield next.value.text;
}
