import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compile } from '../support/compile.ts';

const PROJECT = join(import.meta.dirname, '../..');
const FIXTURES = join('tests', 'fixtures', 'client');
const OPTIONS = [
  ...['--skipLibCheck', '--types', 'node', '--module', 'nodenext', '--target', 'es2024'],
  ...['--allowImportingTsExtensions', '--resolveJsonModule'],
];

const client = suite('types of the tRPC client');

client('compiles with full types, Dates among them', async () => {
  assert.equal((await compile(PROJECT, join(FIXTURES, 'typed.ts'), OPTIONS)).errors, []);
});

client('makes each wrong field, type and procedure a compile error', async () => {
  const { errors } = await compile(PROJECT, join(FIXTURES, 'wrong.ts'), OPTIONS);

  assert.is(errors.length, 5, errors.join('\n'));
  assert.match(errors[0] ?? '', /password_hash/);
  assert.match(errors[1] ?? '', /'Date' is not assignable to type 'string'/);
  assert.match(errors[2] ?? '', /'string' is not assignable to type 'boolean/);
  assert.match(errors[3] ?? '', /email/);
  assert.match(errors[4] ?? '', /vanish/);
});

client.run();
