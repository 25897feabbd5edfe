import { buffer } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeSources, ONE, openedHash, TWO } from '../support/package-stores.ts';
import { problemOf, refuses, sha256 } from '../support/packages.ts';
import { type Conduct, setCredentials, startS3Server, storeOn } from '../support/s3-server.ts';
import { until } from '../support/time.ts';

setCredentials();
const races = suite('concurrent publishers in one bucket');

const isClaim = (request: string): boolean => /^PUT .*\.sha256/.test(request);

/** A server that holds back the first claim that reaches it until it is released. */
const startHolding = async (condition: Conduct['condition']) => {
  const conduct: Conduct = { condition, fault: null };
  const server = await startS3Server(conduct);
  const released = Promise.withResolvers<void>();
  let claims = 0;
  conduct.before = async (method, path) => {
    if (!isClaim(`${method} ${path}`)) return;
    claims += 1;
    if (claims === 1) await released.promise;
  };
  const claimed = (count: number) =>
    until(`${count} claims`, () => server.requests.filter(isClaim).length >= count);
  return { server, claimed, release: () => released.resolve() };
};

for (const condition of ['ignored', 'unknown'] as const) {
  races(`wait for a slow one, where If-None-Match is ${condition}`, async () => {
    await using sources = await makeSources();
    const { server, claimed, release } = await startHolding(condition);
    await using _closed = server;
    const packages = storeOn(server, '', { settleMs: 1000 });

    const late = packages.publish('sales', '1.0.0', await sources.fileOf(ONE));
    await claimed(1);
    const early = packages.publish('sales', '1.0.0', await sources.fileOf(TWO));
    await claimed(condition === 'unknown' ? 5 : 3);
    release();

    await refuses(early, /other bytes/);
    assert.is((await late).sha256, sha256(ONE));
    const opened = await packages.open('sales', '1.0.0');
    assert.equal(opened && (await buffer(opened.body)), ONE);
  });
}

races('learn immediately which one was first, where If-None-Match is obeyed', async () => {
  await using sources = await makeSources();
  const { server, claimed, release } = await startHolding('obeyed');
  await using _closed = server;
  const packages = storeOn(server, '', { settleMs: 3_600_000 });

  const late = packages.publish('sales', '1.0.0', await sources.fileOf(ONE));
  await claimed(1);
  await packages.publish('sales', '1.0.0', await sources.fileOf(TWO));
  release();

  await refuses(late, /other bytes/);
  assert.is(await openedHash(packages), sha256(TWO));
});

races('can retry if the claim of the first one is not visible yet', async () => {
  await using sources = await makeSources();
  await using server = await startS3Server();
  const packages = storeOn(server);
  server.conduct.fault = 'ConditionalRequestConflict';
  server.conduct.affects = (method) => method === 'PUT';

  await problemOf(packages.publish('sales', '1.0.0', await sources.fileOf(ONE)), 'package-store-unavailable');
  server.conduct.fault = null;
  await packages.publish('sales', '1.0.0', await sources.fileOf(ONE));

  assert.is(await openedHash(packages), sha256(ONE));
});

races.run();
