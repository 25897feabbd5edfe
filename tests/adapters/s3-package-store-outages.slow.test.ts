import { createCipheriv } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { PackageStore } from '../../src/adapters/package-store/package-store.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { inspectPackage } from '../../src/services/packages/package-inspection.ts';
import { KEYS } from '../support/environment.ts';
import { makeSources, ONE } from '../support/package-stores.ts';
import { packageOf, problemOf, tarEntry } from '../support/packages.ts';
import { type S3Server, setCredentials, startS3Server, storeOn } from '../support/s3-server.ts';
import { suite } from '../support/suite.ts';

type Sources = Awaited<ReturnType<typeof makeSources>>;
const outages = suite<{ server: S3Server; sources: Sources }>('outages of the S3 package store');

const SILENCE_MS = 300;
const PACKAGE_BYTES = 300_000;
const SALES = { slug: 'sales', version: '1.0.0' };
/** Incompressible bytes, so that half a package ends well before the last file. */
const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(
  Buffer.alloc(PACKAGE_BYTES),
);
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

/** The errors of all operations of the store. */
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

outages('store is unavailable if the connection is refused', async ({ server, sources }) => {
  await server.stop();

  await isToldEverywhere(storeOn(server), sources, /connection refused/);
});

outages('store is unavailable if its host has no address', async ({ sources }) => {
  await isToldEverywhere(
    storeOn({ endpoint: 'http://host.invalid' }),
    sources,
    /host\.invalid: no (such host|name server answers)/,
  );
});

outages('store is unavailable if the bucket does not exist', async ({ server, sources }) => {
  await isToldEverywhere(
    storeOn(server, '', { bucket: 'no-such-bucket' }),
    sources,
    /NoSuchBucket \(status 404\)/,
  );
});

outages('store is unavailable if access is denied', async ({ server, sources }) => {
  server.conduct.fault = 'AccessDenied';

  await isToldEverywhere(storeOn(server), sources, /AccessDenied \(status 403\)/);
});

outages(
  'store is unavailable if access to only the list or only the objects is denied',
  async ({ server }) => {
    const packages = storeOn(server);
    server.conduct.fault = 'AccessDenied';

    server.conduct.affects = (_method, path) => path === '/packages/';
    await problemOf(packages.open('sales', '1.0.0'), 'package-store-unavailable');
    await problemOf(packages.open('nothing', '1.0.0'), 'package-store-unavailable');
    server.conduct.affects = (_method, path) => path !== '/packages/';
    await problemOf(packages.open('sales', '1.0.0'), 'package-store-unavailable');
    assert.is(await packages.open('nothing', '1.0.0'), null);
  },
);

outages('store is unavailable after three failed attempts', async ({ server }) => {
  server.conduct.fault = 'InternalError';

  const { cause } = await problemOf(storeOn(server).versions('sales'), 'package-store-unavailable');

  assert.match(String(cause), 'InternalError');
  assert.is(server.failedRequests.length, 3);
});

outages('store is available if only the first attempt fails', async ({ server }) => {
  server.conduct.fault = 'InternalError';
  server.conduct.affects = () => server.failedRequests.length < 1;

  assert.equal(await storeOn(server).versions('sales'), ['1.0.0']);
});

outages('store is unavailable if it does not respond', async ({ server, sources }) => {
  server.conduct.fault = 'hangs';

  await isToldEverywhere(storeOn(server, '', { silenceMs: 200 }), sources, /timed out|timeout|inactivity/i);
});

for (const fault of ['breaks', 'stalls'] as const) {
  outages(`store is unavailable if the server ${fault} in the middle of a package`, async ({ server }) => {
    const limits = fault === 'stalls' ? { silenceMs: SILENCE_MS } : {};
    const stored = await storeOn(server, '', limits).open('sales', '1.0.0');
    server.conduct.fault = fault;
    assert.ok(stored);

    const { cause } = await problemOf(inspectPackage(stored, SALES), 'package-store-unavailable');

    assert.match(
      String(cause),
      fault === 'breaks' ? /connection reset|aborted/ : /timed out|timeout|inactivity/i,
    );
    assert.ok(stored.body.destroyed);
    // A response that has not begun within the limit may be requested again, one that has begun may not.
    if (fault === 'breaks') assert.is(server.failedRequests.length, 1);
  });
}

outages('store is unavailable if the server stops between lookup and download', async ({ server }) => {
  const stored = await storeOn(server).open('sales', '1.0.0');
  await server.stop();
  assert.ok(stored);

  await problemOf(inspectPackage(stored, SALES), 'package-store-unavailable');
});

outages('store is available again once the server is', async ({ server }) => {
  const packages = storeOn(server);
  await server.stop();
  await problemOf(packages.versions('sales'), 'package-store-unavailable');
  await server.restart();

  const stored = await packages.open('sales', '1.0.0');

  assert.ok(stored);
  assert.is((await inspectPackage(stored, SALES)).manifest.slug, 'sales');
});

outages('store requests no bytes that are never read', async ({ server }) => {
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
  outages(`error names a wrong ${what}, but neither key nor signature`, async ({ server, sources }) => {
    setCredentials(keys);
    const lines: string[] = [];
    const logger = createLogger('info', { destination: { write: (line: string) => lines.push(line) } });

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

outages('error does not contain the address, which may have a password', async () => {
  process.env.AWS_ENDPOINT_URL_S3 = 'ftp://user:a-secret-of-mine@host.invalid';
  const { cause } = await problemOf(
    storeOn({ endpoint: undefined }).list(),
    'package-store-unavailable',
  ).finally(() => {
    delete process.env.AWS_ENDPOINT_URL_S3;
  });

  assert.is(String(cause), 'Error: The endpoint of the bucket is not valid.');
});

outages.run();
