import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { type Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { createZstdDecompress } from 'node:zlib';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ListChunk, ListStream, type OpenList, streamList } from '../../src/db/list-stream.ts';
import type { ReadTextRows, TextRow } from '../../src/db/text-rows.ts';
import { compressResponses } from '../../src/http/middleware/compression.ts';
import { sendListStream } from '../../src/http/rest/responses.ts';
import { suite } from '../support/suite.ts';

/** Of 200 to 1,200 bytes: several pages, each of many chunks. */
const ROWS = 12_000;
const LISTS = 12;

const rowOf = (list: string, index: number): string => `${list}:${index}:`.repeat(20 + (index % 100));
const textOf = (list: string): string =>
  `[${Array.from({ length: ROWS }, (_, index) => rowOf(list, index)).join(',')}]`;

const openList = (list: string): OpenList => ({
  start: '[',
  separator: ',',
  end: ']',
  statement: (after, limit) => ({ sql: list, parameters: [Number(after?.[0] ?? -1) + 1, limit] }),
  encode: (row: TextRow) => `${row[1]}`,
});

const readRows: ReadTextRows = async ({ sql: list, parameters: [first, limit] }, onRow) => {
  await setImmediate();
  const end = Math.min(ROWS, Number(first) + Number(limit));
  for (let index = Number(first); index < end; index += 1) onRow([`${index}`, rowOf(list, index)]);
};

const COUNTED_CHUNKS = 50;
const counted = { sent: 0, held: 0, most: 0 };

/** Counts its chunks that are not released. */
async function* countedChunks(): AsyncGenerator<ListChunk> {
  for (let n = 1; n <= COUNTED_CHUNKS; n += 1) {
    // Longer than a write takes: the next chunk is never ready before.
    await sleep(5);
    counted.sent += 1;
    counted.held += 1;
    counted.most = Math.max(counted.most, counted.held);
    const release = () => {
      counted.held -= 1;
    };
    yield { text: Buffer.alloc(1000, 'x'), isLast: n === COUNTED_CHUNKS, release };
  }
}

const buffers: Test<{ server: FastifyInstance }> = suite('buffers of lists');

buffers.before(async (context) => {
  context.server = fastify();
  await compressResponses(context.server);
  context.server.get<{ Params: { list: string } }>('/api/:list', (request, reply) => {
    const list = openList(request.params.list);
    const chunks = streamList(readRows, list, async () => list);
    return sendListStream(reply, new ListStream(chunks), 'application/json');
  });
  await context.server.listen({ port: 0, host: '127.0.0.1' });
});
buffers.after(({ server }) => server.close());

/** @param rounds of the event loop to wait after each chunk */
const read = async (server: FastifyInstance, list: string, encoding: string, rounds: number) => {
  const headers = { 'accept-encoding': encoding };
  const request = get(`${server.listeningOrigin}/api/${list}`, { agent: false, headers });
  const [response] = (await once(request, 'response')) as [IncomingMessage]; // arguments of the event
  const texts = encoding === 'zstd' ? response.pipe(createZstdDecompress()) : response;
  let text = '';
  for await (const chunk of texts.setEncoding('utf8')) {
    text += chunk;
    for (let round = 0; round < rounds; round += 1) await setImmediate();
  }
  return text;
};

for (const encoding of ['identity', 'zstd']) {
  buffers(
    `${encoding}: are not reused before they are sent, however slow the readers are`,
    async ({ server }) => {
      const lists = Array.from({ length: LISTS }, (_, index) => `list-${index}`);
      const texts = await Promise.all(lists.map((list, index) => read(server, list, encoding, index)));

      for (const [index, list] of lists.entries()) assert.ok(texts[index] === textOf(list), list);
    },
  );
}

buffers('are released while a slow reader still reads', async () => {
  // A connection that is not done with a chunk when the next one is asked for.
  const raw = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => setTimeout(done, 1) });
  const reply = {
    request: {},
    raw,
    type: () => reply,
    hasHeader: () => false,
    send: (text: Readable) => text.pipe(raw),
  };
  await sendListStream(reply as unknown as FastifyReply, new ListStream(countedChunks()), 'text/plain');
  await finished(raw);

  assert.equal([counted.sent, counted.held], [COUNTED_CHUNKS, 0]);
  assert.ok(counted.most <= 4, `${counted.most} of ${COUNTED_CHUNKS} chunks in memory`);
});

buffers('are not reused for a list while another reader has left', async ({ server }) => {
  const leave = async (list: string) => {
    const request = get(`${server.listeningOrigin}/api/${list}`, { agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage]; // arguments of the event
    await once(response, 'data');
    response.destroy();
  };
  const texts = await Promise.all([
    read(server, 'kept-1', 'identity', 1),
    leave('left-1'),
    read(server, 'kept-2', 'identity', 3),
    leave('left-2'),
  ]);

  assert.ok(texts[0] === textOf('kept-1'));
  assert.ok(texts[2] === textOf('kept-2'));
});

buffers.run();
