import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const PROJECT = join(import.meta.dirname, '../..');
const FIXTURES = join('tests', 'fixtures', 'client');

/** What the compiler says of one file under the project's own strict settings, a line an error. */
const compile = (file: string): Promise<string[]> =>
  new Promise((resolve) => {
    const options = [
      ...['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--types', 'node'],
      ...[
        '--module',
        'nodenext',
        '--target',
        'es2024',
        '--allowImportingTsExtensions',
        '--resolveJsonModule',
      ],
    ];
    const tsc = join(PROJECT, 'node_modules', 'typescript', 'bin', 'tsc');
    execFile(process.execPath, [tsc, ...options, join(FIXTURES, file)], { cwd: PROJECT }, (_failed, stdout) =>
      resolve(stdout.split('\n').filter((line) => line.includes('error TS'))),
    );
  });

const client = suite('types of the tRPC client');

client('compiles with full types, Dates among them', async () => {
  assert.equal(await compile('typed.ts'), []);
});

client('makes each wrong field, type and procedure a compile error', async () => {
  const errors = await compile('wrong.ts');

  assert.is(errors.length, 5, errors.join('\n'));
  assert.match(errors[0] ?? '', /password_hash/);
  assert.match(errors[1] ?? '', /'Date' is not assignable to type 'string'/);
  assert.match(errors[2] ?? '', /'string' is not assignable to type 'boolean/);
  assert.match(errors[3] ?? '', /email/);
  assert.match(errors[4] ?? '', /vanish/);
});

client.run();
