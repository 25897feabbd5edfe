import superjson from 'superjson';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { createScript } from '../support/http-clients.ts';
import { loggedIn } from '../support/logins.ts';
import { rejectsWith } from '../support/rejects.ts';
import { problemIn } from '../support/second-factors.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GRACE, ROOT, STAFF } from '../support/test-app.ts';

const recent = appSuite('recent password');

type Script = ReturnType<typeof createScript>;
const confirm = (script: Script, password: string) =>
  script.send('POST /session/confirm/', { payload: { password } });

let made = 0;
const makeToken = (script: Script) => {
  made += 1;
  return script.send('POST /jb/tokens/', { payload: { name: `token ${made}` } });
};

recent('is required 15 minutes after the login to create a token in a session', async ({ app }) => {
  const script = await loggedIn(app, ADA);

  app.clock.advance(15 * MINUTE_MS);
  assert.is((await makeToken(script)).statusCode, 201);
  app.clock.advance(1);
  const refused = await makeToken(script);

  assert.is(refused.statusCode, 403);
  const { title, detail } = refused.json();
  assert.equal([problemIn(refused), title], ['reauthentication-required', 'Password confirmation required']);
  assert.match(detail, 'POST /api/v1/session/confirm/');
  assert.is((await script.send('GET /jb/tokens/')).statusCode, 200);
});

recent('counts from the last confirmation in this session', async ({ app }) => {
  const script = await loggedIn(app, ADA);
  const other = await loggedIn(app, ADA);
  app.clock.advance(60 * MINUTE_MS);

  assert.is((await confirm(script, DEMO_PASSWORD)).statusCode, 204);
  assert.is((await makeToken(script)).statusCode, 201);
  assert.is((await makeToken(other)).statusCode, 403);
  app.clock.advance(15 * MINUTE_MS + 1);
  assert.is((await makeToken(script)).statusCode, 403);
  const [entry] = await app.as(ROOT).audit.list({ actor: ADA, action: 'session.confirm' });
  assert.is(entry?.target, ADA);
});

recent('is required in a session to grant a role, but not to revoke one', async ({ app }) => {
  const script = await loggedIn(app, ROOT);
  const send = (line: string, payload: object) => script.send(line, { payload });
  const roles = (payload: object) => send(`PATCH /jb/users/${GRACE}/roles/`, payload);
  const admin = (is_admin: boolean) => send(`PUT /jb/clients/1/admins/${GRACE}/`, { is_admin });
  app.clock.advance(16 * MINUTE_MS);

  for (const grant of [roles({ is_staff: true }), roles({ is_superuser: true }), admin(true)])
    assert.is(problemIn(await grant), 'reauthentication-required');
  const payload = superjson.serialize({ email: GRACE, is_staff: true });
  const overTrpc = await script.send('POST !/trpc/roles.update', { payload });
  assert.is(overTrpc.json().error.json.data.problem.code, 'reauthentication-required');
  for (const revoke of [() => roles({ is_staff: false, is_superuser: false }), () => admin(false)])
    assert.is((await revoke()).statusCode, 200);

  await confirm(script, DEMO_PASSWORD);
  for (const grant of [() => roles({ is_staff: true }), () => admin(true)])
    assert.is((await grant()).statusCode, 200);
  // Asking for the password is not recorded as a refusal.
  assert.equal(await app.as(ROOT).audit.list({ actor: ROOT, action: 'request.refused' }), []);
});

recent('is required to create or change an access view, but not to deactivate it', async ({ app }) => {
  const script = await loggedIn(app, ACME);
  const send = (line: string, payload?: object) => script.send(line, { ...(payload && { payload }) });
  const { key } = (await send('POST /access_views/', { app: 'sales' })).json();
  app.clock.advance(16 * MINUTE_MS);

  const path = `/access_views/${key}/`;
  const grants: [line: string, payload: object][] = [
    ['POST /access_views/', { app: 'sales' }],
    [`PATCH ${path}`, { is_active: true }],
    [`PATCH ${path}`, { expires_at: null }],
    [`PATCH ${path}`, { is_active: false, allowed_uses_cnt: 0 }],
    [`PUT ${path}`, { allowed_uses_cnt: 0 }],
  ];
  for (const [line, payload] of grants)
    assert.is(problemIn(await send(line, payload)), 'reauthentication-required', line);
  assert.is((await send(`PATCH ${path}`, { is_active: false })).statusCode, 200);
  assert.is((await send(`DELETE ${path}`)).statusCode, 204);

  const headers = { authorization: `Token ${await app.tokenOf(ACME)}` };
  app.clock.advance(16 * MINUTE_MS);
  const byToken = await app.send(`PATCH ${path}`, { headers, payload: { is_active: true } });
  assert.is(byToken.statusCode, 200);
  await confirm(script, DEMO_PASSWORD);
  for (const [line, payload] of grants) assert.ok((await send(line, payload)).statusCode < 300, line);
});

recent('is not required with an API token', async ({ app }) => {
  const token = await app.tokenOf(ADA);
  app.clock.advance(60 * MINUTE_MS);
  const headers = { authorization: `Token ${token}` };
  const send = (line: string, payload: object) => app.send(line, { headers, payload });

  assert.is((await send('POST /jb/tokens/', { name: 'by token' })).statusCode, 201);
  assert.is((await send('POST /session/confirm/', { password: DEMO_PASSWORD })).statusCode, 204);
});

recent('is confirmed only by the correct password with a CSRF token', async ({ app }) => {
  const script = await loggedIn(app, ADA);
  app.clock.advance(16 * MINUTE_MS);

  const wrong = await confirm(script, 'a wrong guess');
  const right = { payload: { password: DEMO_PASSWORD }, headers: { 'x-csrftoken': 'x' } };
  const foreign = await script.send('POST /session/confirm/', right);

  assert.equal(
    [wrong.statusCode, Object.keys(wrong.json().errors), foreign.statusCode],
    [400, ['password'], 403],
  );
  assert.is((await makeToken(script)).statusCode, 403);
  assert.is((await createScript(app).send('POST /session/confirm/', { payload: {} })).statusCode, 401);
});

recent('is throttled like a login', async ({ app }) => {
  const script = await loggedIn(app, GRACE);

  for (let tries = 0; tries < 10; tries += 1)
    assert.is((await confirm(script, 'a wrong guess')).statusCode, 400);
  for (const password of ['a wrong guess', DEMO_PASSWORD]) {
    const { statusCode, headers } = await confirm(script, password);
    assert.equal([statusCode, headers['retry-after'] !== undefined], [429, true]);
  }
});

recent('is not confirmed in a session that was revoked while the password was verified', async ({ app }) => {
  const { cookies } = await loggedIn(app, STAFF);
  const actor = await app.openServices().authentication.findBySession(cookies.get('steward_session') ?? '');
  if (!actor) return assert.unreachable();
  await app.as(ROOT).sessions.revokeAll({ email: STAFF });

  const confirmed = app.openServices().sessions.confirm(actor, { password: DEMO_PASSWORD }, null);
  await rejectsWith(confirmed, 'unauthenticated');
});

recent.run();
