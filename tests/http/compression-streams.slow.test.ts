import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import fastify, { type FastifyInstance } from 'fastify';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { compressResponses } from '../../src/http/middleware/compression.ts';
import { suite } from '../support/suite.ts';
import { until } from '../support/time.ts';

const DECODERS = { gzip: createGunzip, br: createBrotliDecompress };
type Encoding = keyof typeof DECODERS;
const ENCODINGS = Object.keys(DECODERS) as Encoding[]; // they are its keys

/** More polls without progress than a chunk takes. */
const MAX_IDLE_POLLS = 8;

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
  const [response] = (await once(request, 'response')) as [IncomingMessage]; // arguments of the event
  assert.is(response.headers['content-encoding'], encoding);
  return response;
};

for (const encoding of ENCODINGS) {
  streams(`${encoding}: sends each chunk at once`, async (context) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    context.source = async function* () {
      yield '["the first",';
      await promise;
      yield '"second"]';
    };
    const text = (await open(context.server, encoding)).pipe(DECODERS[encoding]()).setEncoding('utf8');
    let read = '';
    text.on('data', (chunk) => {
      read += chunk;
    });

    await until('the first chunk has arrived', () => read === '["the first",');
    resolve();
    await once(text, 'end');
    assert.is(read, '["the first","second"]');
  });

  streams(`${encoding}: waits for a slow reader`, async (context) => {
    let chunks = 0;
    let hasEnded = false;
    context.source = async function* () {
      try {
        for (; chunks < 2_000; chunks += 1) yield randomBytes(50_000).toString('base64');
      } finally {
        hasEnded = true;
      }
    };
    const response = await open(context.server, encoding);
    let [before, idlePolls] = [-1, 0];
    await until('the source has paused', () => {
      idlePolls = chunks === before ? idlePolls + 1 : 0;
      before = chunks;
      return idlePolls > MAX_IDLE_POLLS;
    });
    assert.ok(chunks < 500, `${chunks} chunks of 67 KB are buffered`);

    response.destroy();
    await until('the source has stopped', () => hasEnded);
  });

  streams(`${encoding}: aborts the response if the stream fails halfway`, async (context) => {
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

  streams(
    `${encoding}: sends an uncompressed problem if the stream fails before its first byte`,
    async (context) => {
      context.source = async function* () {
        yield '["never sent"';
        throw new Error('gone');
      };
      const response = await context.server.inject({
        url: '/api/stream',
        headers: { 'accept-encoding': encoding },
      });

      assert.is(response.statusCode, 500);
      assert.is(response.headers['content-encoding'], undefined);
      assert.is(response.json().message, 'gone');
    },
  );
}

streams.run();
