import * as assert from 'uvu/assert';
import { fieldOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const credentials = appSuite('sessions and tokens of a user');

const logIn = async (app: TestApp, email: string): Promise<void> => {
  const payload = { username: email, password: DEMO_PASSWORD };
  const headers = { 'user-agent': 'Firefox on a laptop' };
  assert.is((await app.send('POST /session/', { payload, headers })).statusCode, 200);
};

const newestSession = async (app: TestApp, email: string): Promise<number> => {
  await logIn(app, email);
  const [session] = await app.as(ROOT).sessions.listByUser({ email });
  return session?.id ?? 0;
};

credentials('are listed for those who may change the user, as the user sees them', async ({ app }) => {
  await logIn(app, ADA);
  const { token, id } = await app.as(ADA).tokens.createNamed({ name: 'nightly export' });
  const [own] = await app.as(ADA).sessions.list({});

  for (const who of [ACME, ROOT]) {
    const [session] = await app.as(who).sessions.listByUser({ email: ADA });
    const tokens = await app.as(who).tokens.listByUser({ email: ADA });
    assert.equal(session, own);
    assert.is(session?.user_agent, 'Firefox on a laptop');
    assert.ok(tokens.some((row) => row.id === id && row.name === 'nightly export'));
    assert.not.ok(JSON.stringify(tokens).includes(token));
    assert.not.ok(fieldOf(tokens, 'is_current').includes(true));
  }
  const current = fieldOf(await app.as(ROOT).tokens.listByUser({ email: ROOT }), 'is_current');
  assert.equal(current, [true], 'the token of the caller is marked');
});

credentials('are not found under another user', async ({ app }) => {
  const id = await newestSession(app, ADA);
  const token = await app.as(ADA).tokens.createNamed({ name: 'of Ada' });

  await rejectsWith(app.as(ACME).sessions.revokeForUser({ email: GRACE, id }), 'not-found');
  await rejectsWith(app.as(ACME).tokens.revokeForUser({ email: GRACE, id: token.id }), 'not-found');

  assert.ok((await app.as(ROOT).sessions.listByUser({ email: ADA })).some((row) => row.id === id));
});

credentials('end one by one, with an audit entry', async ({ app }) => {
  const id = await newestSession(app, GRACE);
  const before = await app.as(ACME).sessions.listByUser({ email: GRACE });
  const token = await app.as(GRACE).tokens.createNamed({ name: 'cron' });
  const headers = { authorization: `Token ${token.token}` };
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 200);

  await app.as(ACME).sessions.revokeForUser({ email: GRACE, id });
  await app.as(ACME).tokens.revokeForUser({ email: GRACE, id: token.id });

  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 401);
  assert.is((await app.as(ACME).sessions.listByUser({ email: GRACE })).length, before.length - 1);
  const [revoked, ended] = await app.as(ACME).audit.list({ actor: ACME, target: GRACE, limit: 2 });
  assert.equal([ended?.action, ended?.clients], ['session.end', [1]]);
  assert.equal([revoked?.action, revoked?.clients], ['token.revoke', [1]]);
  assert.equal(revoked?.details, { id: token.id });
});

credentials('end once, of two administrators who revoke the same session', async ({ app }) => {
  const id = await newestSession(app, ADA);
  const revoke = (who: string) => app.as(who).sessions.revokeForUser({ email: ADA, id });

  const outcomes = await Promise.allSettled([revoke(ACME), revoke(ROOT)]);

  assert.equal(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  const entries = await app.as(ROOT).audit.list({ action: 'session.end', target: ADA });
  assert.is(entries.length, 1);
});

credentials.run();
