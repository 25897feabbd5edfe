import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as assert from 'uvu/assert';
import { appSuite } from '../support/app-suite.ts';
import { openApi } from '../support/openapi.ts';
import { ACME, DEMO_PASSWORD } from '../support/test-app.ts';

/** Compiled by this test, because it imports generated types. */
type Program = { tenCalls: (url: string, username: string, password: string) => Promise<string[]> };

const HERE = import.meta.dirname;

const generated = appSuite('client generated from OpenAPI');

const run = (args: string[], input = '') => {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    cwd: HERE,
    input,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return { stdout, stderr, status };
};

generated('compiles under strict settings and makes ten calls', async ({ app }) => {
  const types = run(['generate.js'], JSON.stringify(openApi));
  assert.is(types.stderr, '');
  await writeFile(join(HERE, 'generated.d.ts'), types.stdout);

  const tsc = join(HERE, '..', '..', 'node_modules', 'typescript', 'bin', 'tsc');
  const strict = ['--strict', '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes', '--noEmit'];
  const modules = [
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--allowImportingTsExtensions',
    '--types',
    'node',
  ];
  const compiled = run([tsc, '--ignoreConfig', ...strict, ...modules, 'ten-calls.ts']);
  assert.is(compiled.stdout, '');

  const { tenCalls }: Program = await import(pathToFileURL(join(HERE, 'ten-calls.ts')).href);
  const url = await app.server.listen({ port: 0, host: '127.0.0.1' });
  assert.equal(await tenCalls(url, ACME, DEMO_PASSWORD), [
    '1 sites',
    'Ada is Byron',
    'one@guest.test false',
    'two@guest.test false',
    'true',
    'true',
    '1 inserted',
    'urn:steward:problem:not-found',
  ]);
});

generated.run();
