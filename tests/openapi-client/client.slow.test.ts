import { spawn, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import * as assert from 'uvu/assert';
import { openApi, readSample } from '../support/openapi.ts';
import { ACME, addressOf, appSuite, DEMO_PASSWORD } from '../support/test-app.ts';

/** Compiled by this test, because it imports generated types. */
type Program = { tenCalls: (url: string, username: string, password: string) => Promise<string[]> };

const HERE = import.meta.dirname;
const TSC = join(HERE, '..', '..', 'node_modules', 'typescript', 'bin', 'tsc');
/** The sample of the documentation, beside the types that it imports. */
const SAMPLE = join('generated', 'sample.ts');
const STRICT = ['--strict', '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes', '--noEmit'];
const MODULES = ['--module', 'nodenext', '--target', 'es2024', '--types', 'node'];

const generated = appSuite('client generated from OpenAPI');

const run = (args: string[], input = '') => {
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: HERE,
    input,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return { stdout, stderr };
};

generated.before(async () => {
  const types = run(['generate.js'], JSON.stringify(openApi));
  assert.is(types.stderr, '');
  await mkdir(join(HERE, 'generated'), { recursive: true });
  await writeFile(join(HERE, 'generated', 'steward.d.ts'), types.stdout);
});

generated('compiles under strict settings and makes ten calls', async ({ app }) => {
  const compiled = run([
    TSC,
    '--ignoreConfig',
    ...STRICT,
    ...MODULES,
    '--allowImportingTsExtensions',
    'ten-calls.ts',
  ]);
  assert.is(compiled.stdout, '');

  const { tenCalls }: Program = await import(pathToFileURL(join(HERE, 'ten-calls.ts')).href);
  assert.equal(await tenCalls(await addressOf(app), ACME, DEMO_PASSWORD), [
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

generated('is used by the sample of docs/rest.md, which compiles and runs', async ({ app }) => {
  const sample = await readSample('docs/rest.md', '## Generated clients');
  await writeFile(join(HERE, SAMPLE), sample.replace('http://localhost:8000', await addressOf(app)));
  const compiled = run([TSC, '--ignoreConfig', ...STRICT, ...MODULES, SAMPLE]);
  assert.is(compiled.stdout, '');

  const { stdout, stderr } = spawn(process.execPath, [SAMPLE], { cwd: HERE });
  const printed = await Promise.all([text(stdout), text(stderr)]);
  assert.equal(printed, ['ada@acme.test, grace@acme.test\nAda has 2 apps\n', '']);
});

generated.run();
