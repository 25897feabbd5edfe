import * as assert from 'uvu/assert';
import { createCommonPasswords } from '../../../src/adapters/hashing/common-passwords.ts';
import { checkPassword, strictest } from '../../../src/services/passwords/password-policy.ts';
import { MAX_PASSWORD_LENGTH } from '../../../src/services/passwords/password-rules.ts';
import { appSuite } from '../../support/app-suite.ts';
import { GRACE, type TestApp } from '../../support/test-app.ts';

const loginByPolicy = appSuite('login with what the policy accepts');

const common = createCommonPasswords();
const NOBODY = { email: '', firstName: '', lastName: '' };
const isAccepted = (password: string): boolean =>
  checkPassword(strictest([]), password, NOBODY, common).every(({ passed }) => passed);

const setPassword = async (app: TestApp, password: string): Promise<void> => {
  const hash = await app.hasher.hash(password);
  await app.db().updateTable('users').set({ password_hash: hash }).where('email', '=', GRACE).execute();
};

const LONGEST = {
  'of one byte each': 'a'.repeat(MAX_PASSWORD_LENGTH),
  'of three bytes each': '€'.repeat(MAX_PASSWORD_LENGTH),
  'in pairs': '😀'.repeat(MAX_PASSWORD_LENGTH),
  'of which not all are composed': 'e\u0301'.repeat(MAX_PASSWORD_LENGTH / 2),
  'that cannot be seen': '\x07 \t\u200b'.repeat(MAX_PASSWORD_LENGTH / 4),
};

for (const [name, password] of Object.entries(LONGEST)) {
  loginByPolicy(`lets in with the most characters ${name}, by JSON and by form`, async ({ app }) => {
    await setPassword(app, password);
    const json = await app.send('POST /api-token-auth/', { payload: { username: GRACE, password } });
    const form = await app.send('POST /api-token-auth/', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ username: GRACE, password }).toString(),
    });

    assert.ok(isAccepted(password));
    assert.is(json.statusCode, 200, json.body);
    assert.is(form.statusCode, 200, form.body);
  });

  loginByPolicy(`takes no more characters ${name} than the login does`, async ({ app }) => {
    const longer = `${password}a`;
    await setPassword(app, longer);
    const response = await app.send('POST /api-token-auth/', {
      payload: { username: GRACE, password: longer },
    });

    assert.not.ok(isAccepted(longer));
    assert.is(response.statusCode, 400);
    assert.ok(response.json().errors.password);
  });
}

loginByPolicy.run();
