import { mkdir, writeFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { KEYS } from '../support/environment.ts';
import { makeScratchFolder } from '../support/files.ts';
import { BUCKET, type S3Server, startS3Server } from '../support/s3-server.ts';
import { assertRefused, runCommand, type Settings } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';

type Folder = Awaited<ReturnType<typeof makeScratchFolder>>;
const commands = suite<{ folder: Folder; server: S3Server; settings: Settings }>('steward apps on S3');

commands.before(async (context) => {
  context.folder = await makeScratchFolder();
  context.server = await startS3Server();
  context.settings = {
    ...KEYS,
    AWS_EC2_METADATA_DISABLED: 'true',
    APP_STORE: `s3://${BUCKET}/apps`,
    APP_STORE_ENDPOINT: context.server.endpoint,
  };
  for (const [slug, version] of [
    ['routes', '1.9.0'],
    ['routes', '1.10.0'],
    ['routes', '1.10.0-rc.1'],
    ['fleet-2', '0.1.0'],
  ]) {
    const dir = context.folder.join(`${slug}-${version}`);
    await mkdir(dir);
    await writeFile(`${dir}/app.yaml`, `slug: ${slug}\nversion: ${version}\nlabel: An app\n`);
    const packed = await runCommand(['apps', 'pack', dir], {}, context.folder.path);
    assert.is(packed.code, 0, packed.stderr);
  }
});
commands.before.each(({ server }) => server.restart());
commands.after(async ({ folder, server }) => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

commands('list says that the store is empty', async ({ settings }) => {
  const table = await runCommand(['apps', 'list'], settings);
  const json = await runCommand(['apps', 'list', '--json'], settings);

  assert.equal([table.code, table.stdout, table.stderr], [0, 'There are no packages.\n', '']);
  assert.equal([json.code, JSON.parse(json.stdout)], [0, []]);
});

commands(
  'publish uploads a package, and accepts the same one again',
  async ({ folder, server, settings }) => {
    for (const name of [
      'routes-1.9.0',
      'routes-1.10.0',
      'routes-1.10.0-rc.1',
      'fleet-2-0.1.0',
      'routes-1.9.0',
    ]) {
      const { code, stdout, stderr } = await runCommand(
        ['apps', 'publish', `${name}.tgz`],
        settings,
        folder.path,
      );
      assert.is(code, 0, stderr);
      assert.match(
        stdout,
        /^(Published \S+ \S+|\S+ \S+ is already in the store, with the same bytes)\nSHA-256 [0-9a-f]{64}\n$/,
      );
      assert.is(stderr, '');
    }

    assert.is((await server.keys()).length, 8);
  },
);

commands('list prints slugs in order, with the newest version first', async ({ settings }) => {
  const all = await runCommand(['apps', 'list'], settings);
  const one = await runCommand(['apps', 'list', 'fleet-2', '--json'], settings);
  const none = await runCommand(['apps', 'list', 'fleet'], settings);

  assert.is(
    all.stdout,
    ['fleet-2  0.1.0', 'routes   1.10.0', 'routes   1.10.0-rc.1', 'routes   1.9.0', ''].join('\n'),
  );
  assert.equal(JSON.parse(one.stdout), [{ slug: 'fleet-2', version: '0.1.0' }]);
  assert.equal([none.code, none.stdout, none.stderr], [1, '', 'The store has no package of an app fleet.\n']);
});

commands('publish refuses different bytes under the same name', async ({ folder, settings }) => {
  await writeFile(folder.join('routes-1.9.0', 'more.txt'), 'more');
  await runCommand(['apps', 'pack', 'routes-1.9.0'], {}, folder.path);

  const outcome = await runCommand(['apps', 'publish', 'routes-1.9.0.tgz'], settings, folder.path);

  assertRefused(outcome, 1);
  assert.match(outcome.stderr, 'routes-1.9.0.tgz is in the store already with other bytes');
});

commands('name APP_STORE and the reason in one line if the store is unavailable', async (context) => {
  const { folder, server, settings } = context;
  const wrong = { ...settings, AWS_SECRET_ACCESS_KEY: 'a-secret-of-mine' };
  const noBucket = { ...settings, APP_STORE: 's3://no-such-bucket' };
  const publish = ['apps', 'publish', 'routes-1.10.0.tgz'];

  const outcomes = [
    [await runCommand(['apps', 'list'], wrong), /SignatureDoesNotMatch/],
    [await runCommand(publish, wrong, folder.path), /SignatureDoesNotMatch/],
    [await runCommand(['apps', 'list'], noBucket), /NoSuchBucket/],
  ] as const;
  await server.stop();
  const down = [
    [await runCommand(['apps', 'list', 'routes'], settings), /ECONNREFUSED/],
    [await runCommand(publish, settings, folder.path), /ECONNREFUSED/],
  ] as const;

  for (const [outcome, reason] of [...outcomes, ...down]) {
    assertRefused(outcome, 1);
    assert.match(outcome.stderr, /^APP_STORE: the package store cannot be used \(.+\)\.\n$/);
    assert.match(outcome.stderr, reason);
    assert.not.match(outcome.stderr, /a-secret-of-mine|S3RVER/);
  }
});

commands('name APP_STORE if there are no credentials', async ({ folder, settings }) => {
  const { AWS_ACCESS_KEY_ID: _id, AWS_SECRET_ACCESS_KEY: _secret, ...keyless } = settings;

  const outcome = await runCommand(['apps', 'list'], { ...keyless, HOME: folder.path });

  assertRefused(outcome, 1);
  assert.match(outcome.stderr, /^APP_STORE: .*credentials/);
});

commands.run();
