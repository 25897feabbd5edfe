import { createServer } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PackageStore } from '../../src/adapters/package-store/package-store.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { inspectPackage } from '../../src/services/packages/package-inspection.ts';
import { packageOf, problemOf, tarEntry } from '../support/build-package.ts';
import { makeSources, ONE } from '../support/package-store-rules.ts';
import { KEYS, type S3Server, startS3Server } from '../support/s3-server.ts';
import { setCredentials, storeOn } from '../support/s3-store.ts';

type Sources = Awaited<ReturnType<typeof makeSources>>;
const outages = suite<{ server: S3Server; sources: Sources }>('an S3 package store that fails');

const SALES = { slug: 'sales', version: '1.0.0' };
/** Bytes that do not shrink, so that half a package is some time before its end. */
const noise = Buffer.from(Array.from({ length: 300_000 }, () => Math.floor(Math.random() * 256)));
const PACKAGE = packageOf([tarEntry({ path: 'noise', body: noise })]);

outages.before(async (context) => {
  setCredentials();
  context.sources = await makeSources();
  context.server = await startS3Server();
  await storeOn(context.server).publish('sales', '1.0.0', await context.sources.fileOf(PACKAGE));
});
outages.before.each(async ({ server }) => {
  setCredentials();
  await server.restart();
  server.conduct.fault = null;
  delete server.conduct.affects;
  server.failedRequests.length = 0;
});
outages.after(async ({ server, sources }) => {
  setCredentials();
  await server[Symbol.asyncDispose]();
  await sources[Symbol.asyncDispose]();
});

/** What everything that the store can be asked for fails with. */
const failuresOf = async (packages: PackageStore, sources: Sources): Promise<string[]> => {
  const file = await sources.fileOf(ONE);
  const problems = await Promise.all(
    [
      packages.list(),
      packages.versions('sales'),
      packages.open('sales', '1.0.0'),
      packages.publish('sales', '3.0.0', file),
    ].map((attempt) => problemOf(attempt, 'package-store-unavailable')),
  );
  return problems.map(({ cause }) => String(cause));
};

const isToldEverywhere = async (packages: PackageStore, sources: Sources, reason: RegExp): Promise<void> => {
  for (const failure of await failuresOf(packages, sources)) assert.match(failure, reason);
};

outages('is away when the connection is refused', async ({ server, sources }) => {
  await server.stop();

  await isToldEverywhere(storeOn(server), sources, /ECONNREFUSED/);
});

outages('is away when its host has no address', async ({ sources }) => {
  await isToldEverywhere(storeOn({ endpoint: 'http://host.invalid' }), sources, /ENOTFOUND|EAI_AGAIN/);
});

outages('is away when the bucket does not exist', async ({ server, sources }) => {
  await isToldEverywhere(storeOn(server, '', { bucket: 'no-such-bucket' }), sources, /NoSuchBucket/);
});

outages('is away when access is denied', async ({ server, sources }) => {
  server.conduct.fault = 'AccessDenied';

  await isToldEverywhere(storeOn(server), sources, /AccessDenied/);
});

outages('is away when only the listing, or only the objects, are denied', async ({ server }) => {
  const packages = storeOn(server);
  server.conduct.fault = 'AccessDenied';

  server.conduct.affects = (_method, path) => path === '/packages/';
  await problemOf(packages.open('sales', '1.0.0'), 'package-store-unavailable');
  await problemOf(packages.open('nothing', '1.0.0'), 'package-store-unavailable');
  server.conduct.affects = (_method, path) => path !== '/packages/';
  await problemOf(packages.open('sales', '1.0.0'), 'package-store-unavailable');
  assert.is(await packages.open('nothing', '1.0.0'), null);
});

outages('is away when it fails again and again, after three tries', async ({ server }) => {
  server.conduct.fault = 'InternalError';

  const { cause } = await problemOf(storeOn(server).versions('sales'), 'package-store-unavailable');

  assert.match(String(cause), 'InternalError');
  assert.is(server.failedRequests.length, 3);
});

outages('is not away when only the first try fails', async ({ server }) => {
  server.conduct.fault = 'InternalError';
  server.conduct.affects = () => server.failedRequests.length < 1;

  assert.equal(await storeOn(server).versions('sales'), ['1.0.0']);
});

outages('is away when it does not answer', async ({ server, sources }) => {
  server.conduct.fault = 'hangs';

  await isToldEverywhere(storeOn(server, '', { silenceMs: 200 }), sources, /TimeoutError/);
});

outages('is away when it answers with something else than S3', async () => {
  const other = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<html><body><p>Welcome!</p></body></html>');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const address = other.address();
  const port = typeof address === 'object' ? address?.port : 0;

  await problemOf(
    storeOn({ endpoint: `http://127.0.0.1:${port}` }).versions('sales'),
    'package-store-unavailable',
  ).finally(() => other.close());
});

for (const fault of ['breaks', 'stalls'] as const) {
  outages(`is away when it ${fault} in the middle of a package`, async ({ server }) => {
    const stored = await storeOn(server, '', { silenceMs: 300 }).open('sales', '1.0.0');
    server.conduct.fault = fault;
    assert.ok(stored);

    const { cause } = await problemOf(inspectPackage(stored, SALES), 'package-store-unavailable');

    assert.match(String(cause), fault === 'breaks' ? /ECONNRESET|aborted/ : /TimeoutError/);
    assert.is(server.failedRequests.length, 1);
    assert.ok(stored.body.destroyed);
  });
}

outages('is away when it goes between the look and the bytes', async ({ server }) => {
  const stored = await storeOn(server).open('sales', '1.0.0');
  await server.stop();
  assert.ok(stored);

  await problemOf(inspectPackage(stored, SALES), 'package-store-unavailable');
});

outages('is there again once the server is', async ({ server }) => {
  const packages = storeOn(server);
  await server.stop();
  await problemOf(packages.versions('sales'), 'package-store-unavailable');
  await server.restart();

  const stored = await packages.open('sales', '1.0.0');

  assert.ok(stored);
  assert.is((await inspectPackage(stored, SALES)).manifest.slug, 'sales');
});

outages('asks for no bytes that nobody reads', async ({ server }) => {
  const stored = await storeOn(server).open('sales', '1.0.0');
  const asked = server.requests.length;

  stored?.body.destroy();

  assert.is(server.requests.length, asked);
  assert.not.match(server.requests.slice(-2).join(), 'sales-1.0.0.tgz?');
});

const WRONG: [what: string, keys: Record<string, string>, reason: RegExp][] = [
  [
    'key',
    { AWS_ACCESS_KEY_ID: 'AKIAUNKNOWN', AWS_SECRET_ACCESS_KEY: 'a-secret-of-mine' },
    /InvalidAccessKeyId/,
  ],
  ['secret', { ...KEYS, AWS_SECRET_ACCESS_KEY: 'a-secret-of-mine' }, /SignatureDoesNotMatch/],
];
for (const [what, keys, reason] of WRONG) {
  outages(`tells of a wrong ${what}, and neither key nor signature`, async ({ server, sources }) => {
    setCredentials(keys);
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line: string) => lines.push(line) });

    const packages = storeOn(server);
    await isToldEverywhere(packages, sources, reason);
    logger.error(
      { err: await problemOf(packages.list(), 'package-store-unavailable') },
      'package-store-unavailable',
    );
    logger.error(
      { err: (await problemOf(packages.list(), 'package-store-unavailable')).cause },
      'package-store-unavailable',
    );

    assert.match(lines.join(), reason);
    assert.not.match(lines.join(), /AKIAUNKNOWN|S3RVER|a-secret-of-mine|AWS4-HMAC|Credential=|aws4_request/);
  });
}

outages.run();
