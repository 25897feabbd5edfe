import * as assert from 'uvu/assert';
import recorded from '../../fixtures/django/hashes.json' with { type: 'json' };
import { rejectsWith } from '../../support/rejects.ts';
import { setRows } from '../../support/rows.ts';
import { ACME, appSuite, type TestApp } from '../../support/test-app.ts';

const logins = appSuite('logins with Django hashes');

const rowOf = (app: TestApp, email: string) =>
  app
    .db()
    .selectFrom('users')
    .select(['password_hash', 'last_password_set'])
    .where('email', '=', email)
    .executeTakeFirstOrThrow();

const makeUser = async (app: TestApp, email: string, hash: string | null): Promise<void> => {
  await app.as(ACME).users.create({ email });
  await setRows(app, 'users', { email }, { password_hash: hash });
};

for (const kind of ['pbkdf2_sha256', 'argon2', 'bcrypt_sha256', 'scrypt']) {
  logins(`replace a ${kind} hash by argon2id`, async ({ app }) => {
    const email = `${kind}@acme.test`;
    const [{ hash, password } = { hash: '', password: '' }] = recorded.filter((made) => made.kind === kind);
    await makeUser(app, email, hash);
    const before = await rowOf(app, email);
    const logIn = (username: string, tried: string) =>
      app.as(null).tokens.create({ username, password: tried });

    await rejectsWith(logIn(email, 'a wrong password'), 'invalid-credentials');
    assert.equal(await rowOf(app, email), before, 'a wrong password changes nothing');
    const first = await logIn(email, password);
    const after = await rowOf(app, email);
    const second = await logIn(email.toUpperCase(), password);
    await rejectsWith(logIn(email, 'a wrong password'), 'invalid-credentials');

    assert.match(first.token, /^[0-9a-f]{40}$/);
    assert.is.not(first.token, second.token);
    assert.is(app.hasher.isOutdated(hash), true);
    assert.is(app.hasher.isOutdated(after.password_hash ?? ''), false);
    assert.equal(after.last_password_set, before.last_password_set, 'it is the same password');
    assert.is((await rowOf(app, email)).password_hash, after.password_hash, 'and is not hashed again');
  });
}

logins('fail with an unusable password', async ({ app }) => {
  const email = 'unusable@acme.test';
  const hash = '!yfFunbMUS2BoAthutndkO3WBa8oFK9xlHSCB54gp';
  await makeUser(app, email, hash);

  for (const password of [hash, hash.slice(1), '!', 'x']) {
    await rejectsWith(app.as(null).tokens.create({ username: email, password }), 'invalid-credentials');
  }
  assert.is((await rowOf(app, email)).password_hash, hash);
});

logins.run();
