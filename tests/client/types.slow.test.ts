import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { readSample } from '../support/openapi.ts';
import { compile } from '../support/packaging.ts';
import { suite } from '../support/suite.ts';
import { ADA, addressOf, startTestApp, type TestApp } from '../support/test-app.ts';

const PROJECT = join(import.meta.dirname, '../..');
const file = (...names: string[]): string => join('tests', 'fixtures', 'client', ...names);
/** Written by this test. */
const SAMPLE = file('generated', 'plain-trpc.ts');
const OPTIONS = [
  ...['--skipLibCheck', '--types', 'node', '--module', 'nodenext', '--target', 'es2024'],
  ...['--lib', 'es2024,esnext.array'],
  ...['--allowImportingTsExtensions', '--resolveJsonModule'],
];

const client = suite<{ app: TestApp; errors: string[] }>('client types');

/** Compiles all files at once, because most of the time goes into shared types. */
client.before(async (context) => {
  context.app = await startTestApp();
  const sample = await readSample('docs/trpc.md', '## A plain tRPC client');
  await mkdir(join(PROJECT, file('generated')), { recursive: true });
  await writeFile(
    join(PROJECT, SAMPLE),
    sample
      .replace("'@steward/client'", "'../../../../src/client.ts'")
      .replace('http://localhost:8000', await addressOf(context.app)),
  );
  const { errors } = await compile(PROJECT, file('wrong.ts'), [...OPTIONS, file('typed.ts'), SAMPLE]);
  context.errors = errors;
});
client.after(({ app }) => app.close());

client(
  'compile with full types including Dates, also those of the plain client of docs/trpc.md',
  ({ errors }) => {
    assert.equal(
      errors.filter((error) => !error.startsWith(file('wrong.ts'))),
      [],
    );
  },
);

client('belong to the plain client of docs/trpc.md, which runs', async ({ app }) => {
  const { date_joined } = await app.as(ADA).users.get({ email: ADA });
  const { stdout, stderr } = spawn(process.execPath, [SAMPLE], { cwd: PROJECT });

  assert.equal(await Promise.all([text(stdout), text(stderr)]), [
    `${ADA} joined in ${date_joined.getFullYear()}\nA user with this email address already exists.\n`,
    '',
  ]);
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
