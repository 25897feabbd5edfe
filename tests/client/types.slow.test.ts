import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { compile } from '../support/compile.ts';
import { suite } from '../support/suite.ts';

const PROJECT = join(import.meta.dirname, '../..');
const file = (name: string): string => join('tests', 'fixtures', 'client', name);
const OPTIONS = [
  ...['--skipLibCheck', '--types', 'node', '--module', 'nodenext', '--target', 'es2024'],
  ...['--allowImportingTsExtensions', '--resolveJsonModule'],
];

const client = suite<{ errors: string[] }>('client types');

/** Compiles both files at once, because most of the time goes into shared types. */
client.before(async (context) => {
  const { errors } = await compile(PROJECT, file('wrong.ts'), [...OPTIONS, file('typed.ts')]);
  context.errors = errors;
});

client('compile with full types including Dates', ({ errors }) => {
  assert.equal(
    errors.filter((error) => !error.startsWith(file('wrong.ts'))),
    [],
  );
});

client('reject each wrong field, type and procedure', (context) => {
  const errors = context.errors.filter((error) => error.startsWith(file('wrong.ts')));

  assert.is(errors.length, 5, errors.join('\n'));
  assert.match(errors[0] ?? '', /password_hash/);
  assert.match(errors[1] ?? '', /'Date' is not assignable to type 'string'/);
  assert.match(errors[2] ?? '', /'string' is not assignable to type 'boolean/);
  assert.match(errors[3] ?? '', /email/);
  assert.match(errors[4] ?? '', /vanish/);
});

client.run();
