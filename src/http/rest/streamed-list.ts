import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JsonChunk, JsonStream } from '../../db/json-stream/json-stream.ts';
import { PieceStream } from './chunk-stream.ts';

/**
 * Sends a list that is text already: as a whole where it is one chunk, else chunk by chunk, as fast as the caller takes it.
 * The first is read before the status is sent, so that a failure has its own; one that comes later cuts the answer off.
 */
export const sendListText = async (request: FastifyRequest, reply: FastifyReply, { chunks }: JsonStream) => {
  const iterator = chunks[Symbol.asyncIterator]();
  const { value: first } = (await iterator.next()) as IteratorYieldResult<JsonChunk>; // there is always one
  reply.type('application/json; charset=utf-8');
  if (first.isLast) {
    reply.raw.once('finish', first.release);
    return reply.send(first.text);
  }
  if (request.method === 'HEAD') {
    await iterator.return?.();
    // A stream, as GET has: an empty text would be told as a length of 0.
    return reply.send(Readable.from([]));
  }
  return reply.send(new PieceStream(first, iterator));
};
