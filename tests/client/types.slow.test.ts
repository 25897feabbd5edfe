import { spawn } from 'node:child_process';
import { glob, mkdir, readFile, writeFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { createStewardClient } from '../../src/client.ts';
import { createRecordedFetch } from '../support/http-clients.ts';
import { readSample } from '../support/openapi.ts';
import { compile } from '../support/packaging.ts';
import { suite } from '../support/suite.ts';
import { ADA, addressOf, DEMO_PASSWORD, startTestApp, type TestApp } from '../support/test-app.ts';

const PROJECT = join(import.meta.dirname, '../..');
const file = (...names: string[]): string => join('tests', 'fixtures', 'client', ...names);
/** Written by this test. */
const SAMPLES = {
  [file('generated', 'plain-trpc.ts')]: '## A plain tRPC client',
  [file('generated', 'plain-session.ts')]: '### With a session, in a browser',
};
const [TOKEN_SAMPLE = '', SESSION_SAMPLE = ''] = Object.keys(SAMPLES);
const EXAMPLES = join(PROJECT, 'docs/examples');
const NEXT_MODULES: Record<string, string> = {
  'next/headers':
    'data:text/javascript,export const received = new Headers(); export const headers = async () => received;',
  'next/cache': 'data:text/javascript,export const revalidatePath = () => {};',
};
const OPTIONS = [
  ...['--skipLibCheck', '--types', 'node', '--module', 'nodenext', '--target', 'es2024'],
  ...['--lib', 'es2024,esnext.array,dom', '--jsx', 'react-jsx'],
  ...['--allowImportingTsExtensions', '--resolveJsonModule'],
];

const client = suite<{ app: TestApp; errors: string[] }>('client types');

/** Compiles all files at once, because most of the time goes into shared types. */
client.before(async (context) => {
  context.app = await startTestApp();
  const url = await addressOf(context.app);
  const files: Record<string, string> = {};
  for (const [name, heading] of Object.entries(SAMPLES))
    files[name] = await readSample('docs/trpc.md', heading);
  for await (const name of glob('{next-app/**/*,custom-fetch}.{ts,tsx}', { cwd: EXAMPLES }))
    files[file('generated', name)] = await readFile(join(EXAMPLES, name), 'utf8');
  for (const [name, code] of Object.entries(files)) {
    // The package may not be built.
    const entry = `'${relative(dirname(name), 'src/client.ts')}'`;
    const changed = code.replaceAll("'@steward/client'", entry).replace('http://localhost:8000', url);
    await mkdir(join(PROJECT, dirname(name)), { recursive: true });
    await writeFile(join(PROJECT, name), changed);
  }
  const { errors } = await compile(PROJECT, file('wrong.ts'), [
    ...OPTIONS,
    ...[file('typed.ts'), file('next.d.ts')],
    ...Object.keys(files),
  ]);
  context.errors = errors;
});
client.after(({ app }) => app.close());

client('compile with full types, also in the clients of docs/trpc.md and in Next.js', ({ errors }) => {
  const others = errors.filter((error) => !error.startsWith(file('wrong.ts')));
  assert.equal(others, []);
});

client('belong to the plain client of docs/trpc.md, which runs', async ({ app }) => {
  const { date_joined } = await app.as(ADA).users.get({ email: ADA });
  const { stdout, stderr } = spawn(process.execPath, [TOKEN_SAMPLE], { cwd: PROJECT });

  assert.equal(await Promise.all([text(stdout), text(stderr)]), [
    `${ADA} joined in ${date_joined.getFullYear()}\nA user with this email address already exists.\n`,
    '',
  ]);
});

client('belong to the plain client with a session, which runs as in a page', async ({ app }) => {
  const args = ['--import', `./${file('browser.ts')}`, SESSION_SAMPLE];
  const env = { ...process.env, STEWARD_URL: await addressOf(app) };
  const { stdout, stderr } = spawn(process.execPath, args, { cwd: PROJECT, env });

  assert.equal(await Promise.all([text(stdout), text(stderr)]), ['user.updated ada@acme.test\n', '']);
});

client('belong to the Next.js app, which acts as the user of the request', async ({ app }) => {
  const { send, cookies } = createRecordedFetch();
  await createStewardClient({ url: await addressOf(app), fetch: send }).loginWithSession({
    email: ADA,
    password: DEMO_PASSWORD,
  });
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const url = NEXT_MODULES[specifier];
      return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
    },
  });
  const load = (name: string) => import(join(PROJECT, file('generated/next-app/app', name)));
  const [{ GET }, { updateProfile }] = await Promise.all([load('apps/route.ts'), load('actions.ts')]);
  const { received } = await import('next/headers' as string);
  hooks.deregister();
  const form = new FormData();
  form.set('first_name', 'x'.repeat(300));

  const visitor: Response = await GET();
  assert.equal(
    [visitor.status, await visitor.json()],
    [401, { message: 'You are not logged in. Log in to continue.' }],
  );
  received.set('cookie', [...cookies].map((pair) => pair.join('=')).join('; '));
  assert.is((await GET()).status, 200);
  assert.equal(Object.keys((await updateProfile({}, form)).fields), ['first_name']);
  form.set('first_name', 'Augusta');
  assert.equal(await updateProfile({}, form), {});
  assert.is((await app.as(ADA).users.get({ email: ADA })).first_name, 'Augusta');
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
