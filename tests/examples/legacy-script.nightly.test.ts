import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import { findPythonWithRequests } from '../support/environment.ts';
import { rowsOf } from '../support/rows.ts';
import { ACME, addressOf, appSuite, type TestApp } from '../support/test-app.ts';

const legacy = appSuite('a Python script of the replaced service');

const FILE = join(import.meta.dirname, '../fixtures/legacy-script.py');
/** What an operator replaces in the script. */
const LOGIN = '"Token " + log_in()';

const run = async (app: TestApp, python: string, source: string): Promise<string> => {
  const child = spawn(python, ['-', await addressOf(app)]);
  child.stdin.end(source);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  assert.is(stderr, '');
  return stdout;
};

const python = findPythonWithRequests();
if (python === undefined) console.log('Skipped: python3-requests is not installed.');
else
  legacy(
    'does with the token of a service account what it did with the password of an admin',
    async ({ app }) => {
      const script = await readFile(FILE, 'utf8');
      const byAdmin = await run(app, python, script);
      const { id } = await app.as(ACME).serviceAccounts.create({
        ...{ name: 'Nightly export', client: 1, roles: ['client-admin'] },
        scopes: ['users:read', 'users:write', 'usage:write'],
      });
      const { token } = await app.as(ACME).serviceAccounts.createToken({ id, name: 'Host 1' });
      await app.as(ACME).users.update({ email: 'ada@acme.test', extra: {} });
      const byService = await run(app, python, script.replace(LOGIN, `"Token ${token}"`));

      assert.ok(script.includes(LOGIN));
      assert.match(byAdmin, /ada@acme\.test True\n/);
      assert.match(byAdmin, "ada@acme.test {'region': 'north'}\n{'inserted': 1, 'duplicates': 0}\n");
      assert.is(byService, byAdmin);
      const changes = await rowsOf(app, 'audit_entries', { actor_type: 'service', actor_id: id });
      assert.equal(
        changes.map(({ action }) => action),
        ['user.update'],
      );
    },
  );

legacy.run();
