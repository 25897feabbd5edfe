import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';
import fastify, { type FastifyInstance } from 'fastify';
import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import { compressResponses } from '../../src/http/middleware/compression.ts';
import { until } from '../support/poll.ts';

const DECODERS = { gzip: createGunzip, br: createBrotliDecompress, zstd: createZstdDecompress };
type Encoding = keyof typeof DECODERS;
const ENCODINGS = Object.keys(DECODERS) as Encoding[]; // they are its keys

/** As often as one looks, more than a piece takes. */
const ENOUGH_LOOKS = 8;

type Source = () => AsyncGenerator<string>;
type Context = { server: FastifyInstance; source: Source };

const streams: Test<Context> = suite<Context>('compressed streams');

streams.before(async (context) => {
  context.server = fastify();
  await compressResponses(context.server);
  context.server.get('/api/stream', (_request, reply) =>
    reply.type('application/json').send(Readable.from(context.source(), { objectMode: false })),
  );
  await context.server.listen({ port: 0, host: '127.0.0.1' });
});
streams.after(({ server }) => server.close());

const open = async (server: FastifyInstance, encoding: Encoding): Promise<IncomingMessage> => {
  const headers = { 'accept-encoding': encoding };
  const request = get(`${server.listeningOrigin}/api/stream`, { agent: false, headers });
  const [response] = (await once(request, 'response')) as [IncomingMessage]; // what the event has
  assert.is(response.headers['content-encoding'], encoding);
  return response;
};

for (const encoding of ENCODINGS) {
  streams(`pass on each piece at once, by ${encoding}`, async (context) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    context.source = async function* () {
      yield '["the first",';
      await promise;
      yield '"second"]';
    };
    const text = (await open(context.server, encoding)).pipe(DECODERS[encoding]()).setEncoding('utf8');
    let read = '';
    text.on('data', (piece) => {
      read += piece;
    });

    await until('the first piece is here', () => read === '["the first",');
    resolve();
    await once(text, 'end');
    assert.is(read, '["the first","second"]');
  });

  streams(`wait for a reader who does not read, by ${encoding}`, async (context) => {
    let pieces = 0;
    let isOver = false;
    context.source = async function* () {
      try {
        for (; pieces < 2_000; pieces += 1) yield randomBytes(50_000).toString('base64');
      } finally {
        isOver = true;
      }
    };
    const response = await open(context.server, encoding);
    let [before, looks] = [-1, 0];
    await until('nothing is made any more', () => {
      looks = pieces === before ? looks + 1 : 0;
      before = pieces;
      return looks > ENOUGH_LOOKS;
    });
    assert.ok(pieces < 500, `${pieces} pieces of 67 KB lie somewhere`);

    response.destroy();
    await until('whoever makes the pieces has stopped', () => isOver);
  });

  streams(`that fail half-way are cut off rather than ended, by ${encoding}`, async (context) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    context.source = async function* () {
      yield '["begun, and never ended"';
      await promise;
      throw new Error('gone');
    };
    const response = await open(context.server, encoding);
    await once(response, 'readable');
    resolve();
    const [outcome] = await Promise.allSettled([once(response.resume(), 'end')]);

    assert.is(outcome.status === 'rejected' && outcome.reason.code, 'ECONNRESET');
  });

  streams(`that fail before they are sent are answered in plain text, by ${encoding}`, async (context) => {
    context.source = async function* () {
      yield '["never sent"';
      throw new Error('gone');
    };
    const answer = await context.server.inject({
      url: '/api/stream',
      headers: { 'accept-encoding': encoding },
    });

    assert.is(answer.statusCode, 500);
    assert.is(answer.headers['content-encoding'], undefined);
    assert.is(answer.json().message, 'gone');
  });
}

streams.run();
