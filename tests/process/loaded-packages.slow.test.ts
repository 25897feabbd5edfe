import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { startService } from '../support/service-process.ts';

const RECORDER = join(import.meta.dirname, '../fixtures/loaded-packages.ts');

/** Packages that a start without mails, S3 and app packages does not need, and what loading them costs. */
const NOT_NEEDED = [
  '@aws-sdk/client-s3', // 120 ms, 22 MB
  'nodemailer', // 100 ms, 15 MB
  '@zxcvbn-ts/language-common', // 45 ms, 19 MB
  'ajv', // 30 ms
  'oidc-provider',
  'koa',
  'tar',
  '@streamparser/json',
  'cli-progress',
  '@scalar/fastify-api-reference',
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace',
  'prom-client',
];

const loading = suite('steward');

loading('starts without the packages that only some instances need', async () => {
  await using folder = await makeScratchFolder();
  const file = folder.join('loaded.json');
  const settings = { DATA_DIR: folder.join('data'), STEWARD_TEST_LOADED: file };
  await using service = await startService('serve', settings, ['--import', RECORDER]);
  assert.is((await service.send('GET !/healthz')).status, 200);
  await service.kill('SIGTERM');

  const loaded: string[] = JSON.parse(await readFile(file, 'utf8'));

  assert.ok(loaded.includes('fastify') && loaded.includes('@trpc/server'), 'what is needed was recorded');
  assert.equal(
    loaded.filter((name) => NOT_NEEDED.includes(name)),
    [],
  );
});

loading.run();
