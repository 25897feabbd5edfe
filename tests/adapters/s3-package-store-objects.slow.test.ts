import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { createFolderPackageStore, makeSources, ONE, openedHash, TWO } from '../support/package-stores.ts';
import { sha256 } from '../support/packages.ts';
import { type S3Server, setCredentials, startS3Server, storeOn } from '../support/s3-server.ts';
import { suiteWith } from '../support/suite.ts';

setCredentials();

const NAME = 'sales-1.0.0.tgz';

const objects = suiteWith(
  'objects of the S3 package store',
  async () => ({}),
  async (started) => ({
    server: started.use(await startS3Server()),
    sources: started.use(await makeSources()),
  }),
);

/** Uploads an object directly, without the store. */
const putObject = async (server: S3Server, key: string, bytes: string | Buffer): Promise<void> => {
  await mkdir(dirname(server.fileOf(key)), { recursive: true });
  await writeFile(server.fileOf(key), bytes);
};

objects('are the package and its checksum in the format of sha256sum', async (context) => {
  const { server, sources } = context;
  await storeOn(server, 'team/apps').publish('sales', '1.0.0', await sources.fileOf(ONE));

  assert.equal(await server.keys(), [`team/apps/${NAME}`, `team/apps/${NAME}.sha256`]);
  assert.equal(await readFile(server.fileOf(`team/apps/${NAME}`)), ONE);
  const checksum = await readFile(server.fileOf(`team/apps/${NAME}.sha256`), 'utf8');
  assert.is(checksum, `${sha256(ONE)}  ${NAME}\n`);
});

objects('can be copied from and to the folder of a folder store', async ({ server, sources }) => {
  const dir = sources.fresh();
  const folder = createFolderPackageStore({ dir });
  await folder.publish('sales', '1.0.0', await sources.fileOf(ONE));
  await storeOn(server).publish('sales', '2.0.0', await sources.fileOf(TWO));

  for (const name of [NAME, `${NAME}.sha256`]) await putObject(server, name, await readFile(join(dir, name)));
  for (const name of ['sales-2.0.0.tgz', 'sales-2.0.0.tgz.sha256'])
    await copyFile(server.fileOf(name), join(dir, name));

  for (const store of [storeOn(server), folder]) {
    assert.equal((await store.versions('sales')).sort(), ['1.0.0', '2.0.0']);
    for (const [version, bytes] of [
      ['1.0.0', ONE],
      ['2.0.0', TWO],
    ] as const) {
      const opened = await store.open('sales', version);
      assert.equal(opened && (await buffer(opened.body)), bytes);
    }
  }
});

objects('belong to the prefix directly above them', async ({ server, sources }) => {
  const file = await sources.fileOf(ONE);
  for (const prefix of ['', 'a', 'a/b', 'ab'])
    await storeOn(server, prefix).publish(`in-${prefix.replace('/', '_')}`, '1.0.0', file);

  for (const prefix of ['', 'a', 'a/b', 'ab']) {
    const slug = `in-${prefix.replace('/', '_')}`;
    assert.equal(await storeOn(server, prefix).list(), [{ slug, version: '1.0.0' }]);
  }
  assert.is(await storeOn(server, 'a').open('in-ab', '1.0.0'), null);
});

objects('are stored at AWS_ENDPOINT_URL_S3 if no endpoint is configured', async ({ server, sources }) => {
  process.env.AWS_ENDPOINT_URL_S3 = server.endpoint;
  const packages = storeOn({ endpoint: undefined });
  await packages.publish('sales', '1.0.0', await sources.fileOf(ONE));
  delete process.env.AWS_ENDPOINT_URL_S3;

  assert.is(await openedHash(packages), sha256(ONE));
  assert.is((await server.keys()).length, 2);
});

objects('are listed beyond the page limit of 1,000, and only those of the slug', async ({ server }) => {
  const versions = Array.from({ length: 1100 }, (_, i) => `1.0.${i}`);
  await mkdir(dirname(server.fileOf('apps/x')), { recursive: true });
  for (const version of versions) await putObject(server, `apps/sales-${version}.tgz`, '');
  for (const version of versions.slice(0, 50)) await putObject(server, `apps/churn-${version}.tgz`, '');

  const listed = await storeOn(server, 'apps').versions('sales');

  assert.equal(listed.sort(), versions.sort());
  assert.is(server.requests.length, 2);
  for (const request of server.requests) assert.match(request, 'prefix=apps%2Fsales-');
  assert.is((await storeOn(server, 'apps').list()).length, 1150);
});

objects.run();
