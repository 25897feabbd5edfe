import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import * as assert from 'uvu/assert';
import { createGuardedFetch, FetchError, isPublic } from '../../src/lib/guarded-fetch.ts';
import { suite } from '../support/suite.ts';

const guarded = suite('createGuardedFetch');

const OPTIONS = { allowsPrivate: true, timeoutMs: 5_000, maxBytes: 1_000 };
const strict = createGuardedFetch({ ...OPTIONS, allowsPrivate: false });

const failureOf = async (attempt: Promise<unknown>): Promise<string> => {
  const [outcome] = await Promise.allSettled([attempt]);
  if (outcome.status === 'fulfilled') throw new Error('it should have failed');
  assert.instance(outcome.reason, FetchError);
  return outcome.reason.message;
};

const withServer = async (listener: RequestListener, work: (url: string) => Promise<void>): Promise<void> => {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  await work(`http://127.0.0.1:${bound !== null && typeof bound === 'object' ? bound.port : 0}/`);
  server.closeAllConnections();
  server.close();
};

for (const [address, expected] of [
  ['93.184.215.14', true],
  ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', true],
  ['10.0.0.1', false],
  ['172.16.0.1', false],
  ['192.168.1.1', false],
  ['127.0.0.1', false],
  ['0.0.0.0', false],
  ['169.254.169.254', false],
  ['100.64.0.1', false],
  ['168.63.129.16', false],
  ['::ffff:168.63.129.16', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['198.18.0.1', false],
  ['::1', false],
  ['::', false],
  ['fe80::1', false],
  ['fc00::1', false],
  ['::ffff:10.0.0.1', false],
  ['::7f00:1', false],
  ['200::1', false],
  ['4000::1', false],
  ['::ffff:93.184.215.14', true],
  ['64:ff9b::a00:1', false],
  ['2002:a00:1::1', false],
] as const)
  guarded(`${expected ? 'connects' : 'does not connect'} to ${address}`, () => {
    assert.is(isPublic(address), expected);
  });

for (const url of [
  'https://127.0.0.1/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://localhost/',
])
  guarded(`refuses ${url}`, async () => {
    assert.match(await failureOf(strict(url)), 'is in a private network');
  });

guarded('refuses http: and other protocols', async () => {
  for (const url of ['http://example.com/', 'file:///etc/passwd', 'ftp://example.com/'])
    assert.match(await failureOf(strict(url)), 'is no https:// address');
});

guarded('follows no redirects', async () => {
  await withServer(
    (_request, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    async (url) => {
      const response = await createGuardedFetch(OPTIONS)(url);
      assert.equal([response.status, response.headers.get('location')], [302, 'http://169.254.169.254/']);
    },
  );
});

guarded('sends method, headers and body', async () => {
  await withServer(
    async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      response.end(`${request.method} ${request.headers['x-test']} ${body}`);
    },
    async (url) => {
      const init = { method: 'POST', headers: { 'x-test': 'a' }, body: new URLSearchParams({ b: 'ü' }) };
      assert.is(await (await createGuardedFetch(OPTIONS)(url, init)).text(), 'POST a b=%C3%BC');
    },
  );
});

guarded('reads no more than the limit, also of an endless response', async () => {
  await withServer(
    (_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(600)), 5);
      response.once('close', () => clearInterval(timer));
    },
    async (url) => {
      assert.match(await failureOf(createGuardedFetch(OPTIONS)(url)), 'more than 1000 bytes');
      const beginning = await createGuardedFetch({ ...OPTIONS, truncates: true })(url);
      assert.is((await beginning.text()).length, 1_000);
    },
  );
});

guarded('takes the status as the answer, even if the body is cut or does not end', async () => {
  for (const isCut of [false, true])
    await withServer(
      (_request, response) => {
        response.writeHead(202, { 'content-length': '5000' }).write('begun', () => {
          if (isCut) response.destroy();
        });
      },
      async (url) => {
        const answer = await createGuardedFetch({ ...OPTIONS, truncates: true, bodyMs: 100 })(url);
        assert.equal([answer.status, await answer.text()], [202, 'begun']);
      },
    );
});

guarded('gives up on a server that does not answer, or stops in the middle', async () => {
  for (const isBegun of [false, true])
    await withServer(
      (_request, response) => {
        if (isBegun) response.write('x');
      },
      async (url) => {
        await failureOf(createGuardedFetch({ ...OPTIONS, timeoutMs: 100 })(url));
      },
    );
});

guarded.run();
