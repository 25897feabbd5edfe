import { writeFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { createScaffold } from '../../src/cli/apps.ts';
import { runInProcess } from '../support/commands.ts';
import { KEYS } from '../support/environment.ts';
import { makeScratchFolder } from '../support/files.ts';
import { BUCKET, type S3Server, startS3Server } from '../support/s3-server.ts';
import { assertRefused, type Settings } from '../support/service-process.ts';
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
  const dir = context.folder.join('routes');
  await createScaffold('routes', dir);
  await writeFile(`${dir}/app.yaml`, 'slug: routes\nversion: 1.10.0\nlabel: Routes\n');
  const packed = await runInProcess(['apps', 'pack', dir], {}, context.folder.path);
  assert.is(packed.code, 0, packed.stderr);
});
commands.before.each(({ server }) => server.restart());
commands.after(async ({ folder, server }) => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

commands('publish uploads a package with its checksum, and list finds it', async (context) => {
  const { folder, server, settings } = context;
  const published = await runInProcess(['apps', 'publish', 'routes-1.10.0.tgz'], settings, folder.path);
  const listed = await runInProcess(['apps', 'list'], settings);

  assert.is(published.code, 0, published.stderr);
  assert.match(published.stdout, /^Published routes 1\.10\.0\nSHA-256 [0-9a-f]{64}\n$/);
  assert.is(listed.stdout, 'routes  1.10.0\n');
  assert.is((await server.keys()).length, 2);
});

commands('name APP_STORE and the reason in one line if the store is unavailable', async (context) => {
  const { folder, server, settings } = context;
  const wrong = { ...settings, AWS_SECRET_ACCESS_KEY: 'a-secret-of-mine' };
  const noBucket = { ...settings, APP_STORE: 's3://no-such-bucket' };
  const publish = ['apps', 'publish', 'routes-1.10.0.tgz'];

  const outcomes = [
    [await runInProcess(['apps', 'list'], wrong), /SignatureDoesNotMatch/],
    [await runInProcess(publish, wrong, folder.path), /SignatureDoesNotMatch/],
    [await runInProcess(['apps', 'list'], noBucket), /NoSuchBucket/],
  ] as const;
  await server.stop();
  const down = [
    [await runInProcess(['apps', 'list', 'routes'], settings), /connection refused/],
    [await runInProcess(publish, settings, folder.path), /connection refused/],
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

  const outcome = await runInProcess(['apps', 'list'], { ...keyless, HOME: folder.path });

  assertRefused(outcome, 1);
  assert.match(outcome.stderr, /^APP_STORE: .*credentials/);
});

commands.run();
