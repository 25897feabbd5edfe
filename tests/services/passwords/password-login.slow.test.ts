import * as assert from 'uvu/assert';
import { loadCommonPasswords } from '../../../src/adapters/hashing/common-passwords.ts';
import {
  checkPassword,
  MAX_PASSWORD_LENGTH,
  strictestPolicy,
} from '../../../src/services/passwords/password-rules.ts';
import { appSuite, GRACE, type TestApp } from '../../support/test-app.ts';

const longPasswords = appSuite('login with long passwords');

const common = await loadCommonPasswords();
const NO_PERSON = { email: '', firstName: '', lastName: '' };
const isAccepted = (password: string): boolean =>
  checkPassword(strictestPolicy([]), password, NO_PERSON, common).every(({ passed }) => passed);

const setPassword = async (app: TestApp, password: string): Promise<void> => {
  const hash = await app.hasher.hash(password);
  await app.db().updateTable('users').set({ password_hash: hash }).where('email', '=', GRACE).execute();
};

const LONGEST = {
  'one-byte characters': 'a'.repeat(MAX_PASSWORD_LENGTH),
  'three-byte characters': '€'.repeat(MAX_PASSWORD_LENGTH),
  'surrogate pairs': '😀'.repeat(MAX_PASSWORD_LENGTH),
  'invisible characters': '\x07 \t\u200b'.repeat(MAX_PASSWORD_LENGTH / 4),
};

for (const [name, password] of Object.entries(LONGEST)) {
  longPasswords(`accepts a password of maximum length in ${name}, as JSON and as a form`, async ({ app }) => {
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

  longPasswords(`policy and login both reject one character more in ${name}`, async ({ app }) => {
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

longPasswords.run();
