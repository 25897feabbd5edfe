import { createCipheriv } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { PackageStore } from '../../src/adapters/package-store/package-store.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { inspectPackage } from '../../src/services/packages/package-inspection.ts';
import { KEYS } from '../support/environment.ts';
import { makeSources, ONE } from '../support/package-stores.ts';
import { packageOf, problemOf, tarEntry } from '../support/packages.ts';
import { setCredentials, startS3Server, storeOn } from '../support/s3-server.ts';
import { suiteWith } from '../support/suite.ts';

type Sources = Awaited<ReturnType<typeof makeSources>>;

const SILENCE_MS = 300;
const PACKAGE_BYTES = 300_000;
const SALES = { slug: 'sales', version: '1.0.0' };
/** Incompressible bytes, so that half a package ends well before the last file. */
const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(
  Buffer.alloc(PACKAGE_BYTES),
);
const PACKAGE = packageOf([tarEntry({ path: 'noise', body: noise })]);

const outages = suiteWith('outages of the S3 package store', async (started) => {
  setCredentials();
  started.defer(() => setCredentials());
  const sources = started.use(await makeSources());
  const server = started.use(await startS3Server());
  await storeOn(server).publish('sales', '1.0.0', await sources.fileOf(PACKAGE));
  return { server, sources };
});
outages.before.each(async ({ server }) => {
  setCredentials();
  await server.restart();
  server.conduct.fault = null;
  delete server.conduct.affects;
  server.failedRequests.length = 0;
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

outages.run();
