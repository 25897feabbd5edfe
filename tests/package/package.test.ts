import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import manifest from '../../package.json' with { type: 'json' };
import { compile, TSC } from '../support/compile.ts';
import { installPackage } from '../support/installed-package.ts';
import { startService } from '../support/service-process.ts';
import { DEMO_PASSWORD } from '../support/test-app.ts';

const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, '../..');
const STRICT = ['--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes', '--target', 'esnext'];
const MODULES = {
  nodenext: ['--module', 'nodenext'],
  bundler: ['--module', 'preserve', '--moduleResolution', 'bundler'],
};
/** With the types of the sources it takes three million. */
const MAX_INSTANTIATIONS = 300_000;

type Installed = Awaited<ReturnType<typeof installPackage>>;
const tests = suite<Installed>('the package, installed');

tests.before(async (context) => {
  Object.assign(context, await installPackage());
});
tests.after(({ folder }) => folder[Symbol.asyncDispose]());

tests('has what runs and what is read, and nothing else', ({ files }) => {
  const strays = files.filter(
    (file) =>
      !/^package\/(package\.json|LICENSE|README\.md|docs\/.+|dist\/.+\.(js|css|json|d\.ts))$/.test(file) &&
      !file.startsWith('package/dist/src/cli/apps-new-template/'),
  );

  assert.ok(files.length > 100);
  assert.equal(strays, []);
  assert.equal(
    Object.keys(manifest.scripts).filter((name) => /install|^prepare$/.test(name)),
    [],
  );
});

tests('runs by npx, with the Node that comes along', async ({ app }) => {
  const { stdout } = await run('npx', ['steward', '--version'], { cwd: app });
  await run('npx', ['steward', 'apps', 'new', 'fresh'], { cwd: app });

  assert.is(stdout.trim(), manifest.version);
  await access(join(app, 'fresh', 'app.yaml'));
});

tests('serves from an empty folder, and its client calls it', async ({ app, folder }) => {
  const cli = join(app, 'node_modules/steward/dist/src/cli.js');
  await using service = await startService('demo', { DATA_DIR: folder.join('data') }, [], { cli });
  const page = await (await fetch(`${service.address}/login/`)).text();
  const env = { ...process.env, STEWARD_URL: service.address, STEWARD_PASSWORD: DEMO_PASSWORD };
  const { stdout } = await run(process.execPath, ['people.ts', 'packed@acme.test'], { cwd: app, env });
  const ending = await service.kill('SIGTERM');

  assert.match(page, '--paper');
  assert.match(stdout, 'ada@acme.test');
  assert.match(stdout, 'Added packed@acme.test');
  assert.is(ending.code, 0, ending.stderr);
});

for (const [name, options] of Object.entries(MODULES)) {
  tests(`has declarations that a strict project takes as they are: ${name}`, async ({ app }) => {
    const { errors, instantiations } = await compile(app, 'typed.ts', [...STRICT, ...options]);

    assert.equal(errors, []);
    assert.ok(instantiations > 1000 && instantiations < MAX_INSTANTIATIONS, `${instantiations}`);
  });

  tests(`is what TanStack Query takes: ${name}`, async ({ app }) => {
    const { errors } = await compile(app, 'react.ts', [...STRICT, ...options, '--skipLibCheck']);

    assert.equal(errors, []);
  });

  tests(`has errors that can be read: ${name}`, async ({ app }) => {
    const { errors } = await compile(app, 'wrong.ts', [...STRICT, ...options]);

    assert.is(errors.length, 6, errors.join('\n'));
    const told = [
      /password_hash/,
      /'Date'.*'string'/,
      /'string'.*'boolean/,
      /'email' is missing/,
      /arguments/,
      /vanish/,
    ];
    for (const [index, pattern] of told.entries()) assert.match(errors[index] ?? '', pattern);
    for (const error of errors) assert.ok(error.length < 400, error);
  });
}

tests('has the very types of the sources', async () => {
  const options = [
    '--skipLibCheck',
    '--allowImportingTsExtensions',
    '--resolveJsonModule',
    '--types',
    'node',
  ];
  const file = 'tests/fixtures/package/same.ts';
  const { errors } = await compile(PROJECT, file, ['--module', 'nodenext', '--target', 'es2024', ...options]);

  assert.equal(errors, []);
});

tests('has the types that its examples want', async () => {
  const node = ['--module', 'nodenext', '--target', 'esnext', '--types', 'node', '--skipLibCheck'];
  const script = await compile(PROJECT, 'docs/examples/people.ts', node);
  const page = await run(process.execPath, [TSC, '--project', 'docs/examples/react'], { cwd: PROJECT });

  assert.equal(script.errors, []);
  assert.is(page.stdout, '');
});

tests.run();
