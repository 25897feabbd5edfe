import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';

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
  }
});

credentials('are listed page by page', async ({ app }) => {
  for (const _ of [1, 2, 3]) await logIn(app, GRACE);
  const all = await app.as(ACME).sessions.listByUser({ email: GRACE });
  const first = await app.as(ACME).sessions.listByUser({ email: GRACE, limit: 2 });
  const cursor = first.at(-1)?.id;

  const rest = await app.as(ACME).sessions.listByUser({ email: GRACE, limit: 2, cursor });

  assert.equal([...first, ...rest], all);
  const [foreign] = await app.as(ROOT).sessions.listByUser({ email: ADA });
  const problem = await rejectsWith(
    app.as(ACME).sessions.listByUser({ email: GRACE, cursor: foreign?.id }),
    'invalid-input',
  );
  assert.equal(Object.keys(problem.fields ?? {}), ['cursor']);
});

credentials('mark the one of the caller', async ({ app }) => {
  const tokens = await app.as(ROOT).tokens.listByUser({ email: ROOT });
  const others = await app.as(ROOT).tokens.listByUser({ email: ACME });

  assert.is(tokens.filter((row) => row.is_current).length, 1);
  assert.is(others.filter((row) => row.is_current).length, 0);
});

/** Every call, on credentials that exist. */
const callsOf = (app: TestApp, who: string, email: string, session: number, token: number) => [
  () => app.as(who).sessions.listByUser({ email }),
  () => app.as(who).tokens.listByUser({ email }),
  () => app.as(who).sessions.revokeForUser({ email, id: session }),
  () => app.as(who).tokens.revokeForUser({ email, id: token }),
];

credentials('are hidden from those who may not change the user', async ({ app }) => {
  await app.as(ROOT).users.update({ email: STAFF, apps: ['zylTKNVx'] });
  const refused = [
    [GRACE, ADA, 'forbidden'],
    [STAFF, ADA, 'forbidden'],
    [GLOBEX, ADA, 'not-found'],
    [ACME, EDSGER, 'not-found'],
    [ACME, STAFF, 'forbidden'],
    [ROOT, 'unknown@acme.test', 'not-found'],
  ] as const;
  for (const email of [ADA, EDSGER, STAFF]) await app.tokenOf(email);
  for (const [who, email, code] of refused) {
    const known = email !== 'unknown@acme.test';
    const session = known ? await newestSession(app, email) : 1;
    const [token] = known ? await app.as(ROOT).tokens.listByUser({ email }) : [];
    for (const call of callsOf(app, who, email, session, token?.id ?? 1)) await rejectsWith(call(), code);
  }
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
  assert.equal(
    [ended, revoked].map((entry) => [entry?.action, entry?.clients]),
    [
      ['session.end', [1]],
      ['token.revoke', [1]],
    ],
  );
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
