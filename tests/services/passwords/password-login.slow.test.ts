import * as assert from 'uvu/assert';
import { loadCommonPasswords } from '../../../src/adapters/hashing/common-passwords.ts';
import {
  checkPassword,
  MAX_PASSWORD_LENGTH,
  strictestPolicy,
} from '../../../src/services/passwords/password-rules.ts';
import { setRows } from '../../support/rows.ts';
import { appSuite, GRACE, type TestApp } from '../../support/test-app.ts';

const longPasswords = appSuite('login with long passwords');

const common = await loadCommonPasswords();
const NO_PERSON = { email: '', firstName: '', lastName: '' };
const isAccepted = (password: string): boolean =>
  checkPassword(strictestPolicy([]), password, NO_PERSON, common).every(({ passed }) => passed);

const setPassword = async (app: TestApp, password: string): Promise<void> => {
  const hash = await app.hasher.hash(password);
  await setRows(app, 'users', { email: GRACE }, { password_hash: hash });
};

/** The most bytes in JSON, and in a form. */
const LONGEST = ['\x07\t'.repeat(MAX_PASSWORD_LENGTH / 2), '😀'.repeat(MAX_PASSWORD_LENGTH)];

longPasswords('accepts the longest passwords, as JSON and as a form, and none longer', async ({ app }) => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const password of LONGEST) {
    await setPassword(app, password);
    const sent = { username: GRACE, password };
    const payload = new URLSearchParams(sent).toString();
    const responses = [
      await app.send('POST /api-token-auth/', { payload: sent }),
      await app.send('POST /api-token-auth/', { headers: form, payload }),
      await app.send('POST /api-token-auth/', { payload: { ...sent, password: `${password}a` } }),
    ];

    assert.equal([isAccepted(password), isAccepted(`${password}a`)], [true, false]);
    assert.equal(
      responses.map(({ statusCode }) => statusCode),
      [200, 200, 400],
    );
  }
});

longPasswords.run();
