import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { findPythonWithRequests } from '../support/environment.ts';
import { ACME, addressOf, appSuite, type TestApp } from '../support/test-app.ts';

const examples = appSuite('command-line examples');

const PROJECT = join(import.meta.dirname, '../..');
const FROM_SOURCES = join(import.meta.dirname, '../fixtures/steward-from-sources.ts');
const file = (name: string): string => join(PROJECT, 'docs/examples', name);

const COMMANDS: [name: string, command: string, ...args: string[]][] = [
  ['people.ts', process.execPath, '--import', FROM_SOURCES, file('people.ts')],
  ['people.sh', 'sh', file('people.sh')],
];
const python = findPythonWithRequests();
if (python !== undefined) COMMANDS.push(['people.py', python, file('people.py')]);
else console.log('Skipped people.py: python3-requests is not installed.');

const run = async (app: TestApp, [, command, ...args]: string[], settings: Record<string, string> = {}) => {
  const env = { PATH: process.env.PATH, STEWARD_URL: await addressOf(app), ...settings };
  const child = spawn(command ?? '', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code: Number(code), stdout, stderr };
};

for (const example of COMMANDS) {
  const [name] = example;
  const newcomer = `${name}@acme.test`;

  examples(
    `${name} lists users, adds one, and reports on the second run that the user exists`,
    async ({ app }) => {
      const first = await run(app, [...example, newcomer]);
      const second = await run(app, [...example, newcomer]);

      assert.equal([first.code, first.stderr], [0, '']);
      assert.match(first.stdout, /ada@acme\.test/);
      assert.match(first.stdout, new RegExp(`Added ${newcomer}`));
      assert.equal([second.code, second.stderr], [0, '']);
      assert.match(second.stdout, `${newcomer} is there already.`);
      assert.is((await app.as(ACME).users.get({ email: newcomer })).is_active, true);
    },
  );

  examples(`${name} reports errors`, async ({ app }) => {
    const wrong = await run(app, example, { STEWARD_PASSWORD: 'wrong' });
    const bad = await run(app, [...example, 'no address']);

    assert.is(wrong.code, 1);
    assert.match(wrong.stderr, 'Unable to log in with provided credentials.');
    assert.not.match(wrong.stderr, /^\s+at /m);
    assert.match(bad.stdout + bad.stderr, 'Must be an email address.');
  });

  examples(`${name} revokes its token`, async ({ app }) => {
    const count = async () => (await app.db().selectFrom('api_tokens').select('id').execute()).length;
    const before = await count();
    await run(app, [...example, newcomer]);

    assert.is(await count(), before);
  });
}

examples.run();
