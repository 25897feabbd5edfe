import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { enroll } from '../support/second-factors.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const traces = appSuite('what logins in another client, or with a role for all clients, leave behind');

let created = 0;
const addPerson = async (app: TestApp, apps: string[]): Promise<string> => {
  created += 1;
  const email = `login-${created}@x.test`;
  await app.as(ROOT).users.create({ email, apps, send_email: false });
  return email;
};

traces(
  'a second factor from the time in another client shows that it exists, and can be reset',
  async ({ app }) => {
    const email = await addPerson(app, [SALES, FLEET]);
    await enroll(app, email, 'Phone of Globex');
    await app.as(ROOT).users.resetFactors({ email, reason: 'Lost at Globex' });
    await enroll(app, email, 'Phone of Globex');
    app.clock.advance(MINUTE_MS);
    await app.as(GLOBEX).memberships.remove({ id: 2, email });

    const { account } = await app.as(ACME).users.screen({ email });
    assert.is(account?.recovery_codes, null);
    assert.equal(
      account?.second_factors.map(({ id: _, ...factor }) => factor),
      [{ kind: 'totp', name: '', confirmed_at: null, last_used_at: null }],
    );
    assert.is(
      (await app.as(ROOT).users.screen({ email })).account?.second_factors[0]?.name,
      'Phone of Globex',
    );
    const entries = await app.as(ACME).audit.list({ person: email });
    assert.not.match(JSON.stringify(entries), /Globex/);
    await app.as(ACME).users.resetFactors({ email });
    assert.equal((await app.as(email).mfa.list({})).factors, []);
  },
);

traces(
  'a token that was used in another client is shown as unused since its creation, and can be revoked',
  async ({ app }) => {
    const email = await addPerson(app, [FLEET]);
    const { id } = await app.as(email).tokens.createNamed({ name: 'of Globex alone' });
    app.clock.advance(MINUTE_MS);
    await app.as(ROOT).users.update({ email, apps: [SALES, FLEET] });
    app.clock.advance(MINUTE_MS);
    const use = { last_used: app.clock.now(), last_address: '192.0.2.1' };
    await app.db().updateTable('api_tokens').set(use).where('id', '=', id).execute();
    app.clock.advance(MINUTE_MS);
    await app.as(ACME).memberships.remove({ id: 1, email });

    const [token] = await app.as(GLOBEX).tokens.listByUser({ email });
    assert.equal([token?.name, token?.last_address], ['of Globex alone', '']);
    assert.equal(token?.last_used, token?.created_at);
    assert.equal((await app.as(ROOT).tokens.listByUser({ email }))[0]?.last_used, use.last_used);
    await app.as(GLOBEX).tokens.revokeForUser({ email, id });
  },
);

traces('recovery codes of a person who was in another client are not counted', async ({ app }) => {
  const email = await addPerson(app, [SALES]);
  await enroll(app, email, 'Phone');
  const codes = async () => (await app.as(ACME).users.screen({ email })).account?.recovery_codes;
  assert.is(await codes(), 10);
  await app.as(ROOT).users.update({ email, apps: [SALES, FLEET] });
  app.clock.advance(MINUTE_MS);
  await app.as(GLOBEX).memberships.remove({ id: 2, email });

  assert.is(await codes(), null);
  assert.is((await app.as(email).mfa.list({})).recovery_codes, 10);
});

traces(
  'the work of staff is not for admins of a client that they belong to, also not later',
  async ({ app }) => {
    const email = await addPerson(app, [SALES]);
    await app.as(ROOT).roles.update({ email, is_staff: true });
    await app.as(email).tokens.createNamed({ name: 'export of Globex' });
    app.clock.advance(MINUTE_MS);
    assert.equal(await app.as(ACME).audit.list({ person: email, action: 'token.create' }), []);
    await app.as(ROOT).roles.update({ email, is_staff: false });
    app.clock.advance(MINUTE_MS);
    await app.as(email).tokens.createNamed({ name: 'of a member' });

    assert.equal(
      (await app.as(ACME).tokens.listByUser({ email })).map(({ name }) => name),
      ['of a member'],
    );
    const created = await app.as(ACME).audit.list({ person: email, action: 'token.create' });
    assert.is(created.length, 1);
  },
);

traces.run();
