import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import * as assert from 'uvu/assert';
import { setApp, userId } from '../support/access-views.ts';
import { startLogged } from '../support/logged-app.ts';
import { cookieHeader, loggedIn } from '../support/logins.ts';
import { rowsOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD } from '../support/test-app.ts';

const logs = appSuite('logs');

logs('contain no password, token, cookie or query at any level, also for failures', async ({ app }) => {
  const { lines, logged } = await startLogged(app, { level: 'trace' });
  const inject = (url: string, token: string, payload?: object) =>
    logged.server.inject({
      method: payload ? 'POST' : 'GET',
      url,
      headers: { authorization: `Token ${token}`, cookie: 'csrftoken=cookie-secret' },
      ...(payload && { payload }),
    });

  const login = { username: ADA, password: DEMO_PASSWORD };
  const { token } = (await inject('/api/v1/api-token-auth/', 'header-secret', login)).json();
  await inject('/api/v1/api-token-auth/', 'header-secret', { ...login, password: 'wrong-secret' });
  await inject('/api/v1/jb/sites/?password=query-secret', token);
  await inject('/api/v1/jb/api-token-verify/', 'header-secret', { token: 'token-secret' });
  const refreshed = (await inject('/api/v1/jb/api-token-refresh/', 'header-secret', { token })).json();
  assert.match(refreshed.token, /^[0-9a-f]{40}$/);
  await inject('/trpc/users.get?input={"json":{"email":"input-secret"}}', token);
  await app.orm.em.fork().execute('alter table sites rename to sites_away');
  const failed = await inject('/api/v1/jb/sites/', token);
  await app.orm.em.fork().execute('alter table sites_away rename to sites');
  await logged.close();

  const log = lines.join('');
  assert.is(failed.statusCode, 500);
  assert.not.match(failed.body, /sites_away|relation|select/);
  assert.match(log, /relation .*sites.* does not exist/);
  for (const secret of [token, refreshed.token, DEMO_PASSWORD, 'secret']) {
    assert.not.ok(log.includes(secret), `${secret} is in the log`);
  }
});

logs('name no key of an access view, no code and no cookie of an embed', async ({ app }) => {
  await setApp(app, { launch_url: 'https://sales.example.com/' });
  const { lines, logged } = await startLogged(app, { level: 'trace' });
  const { key } = await app.as(ACME).accessViews.create({ app: 'sales', user: ADA });
  const headers = { accept: 'text/html', authorization: `Token ${await app.tokenOf(ACME)}` };

  const opened = await logged.server.inject({ method: 'POST', url: `/v/${key}/`, headers });
  const paths = [
    `/v/${key}`,
    `/v/%${key.charCodeAt(0).toString(16)}${key.slice(1)}/`,
    `/v/${key}/more`,
    `//v/${key}%`,
  ];
  for (const url of [...paths, `/api/v1/access_views/${key}/`, `/api/v2/accessviews/${key}/usage/`])
    await logged.server.inject({ method: 'GET', url, headers });
  await logged.close();

  assert.is(opened.statusCode, 303);
  const code = new URL(String(opened.headers.location)).searchParams.get('code');
  const log = lines.join('');
  assert.match(log, /"path":"\/v\/:key\/"/);
  for (const secret of [key, key.slice(1), code, opened.cookies[0]?.value])
    assert.not.ok(log.includes(String(secret)), `${secret} is in the log`);
  assert.not.ok(JSON.stringify(await rowsOf(app, 'audit_entries')).includes(key));
});

logs('name no email address, in whichever path it is sent and however it is encoded', async ({ app }) => {
  const { lines, logged } = await startLogged(app, { level: 'trace' });
  const headers = { authorization: `Token ${await app.tokenOf(ACME)}` };
  const email = 'zephyrine.quill@acme.test';
  const encoded = ['%40', '%2540', '%252540'].map((at) => email.replace('@', at).replace('z', '%7A'));
  const forms = [email, email.toUpperCase(), ...encoded, 'zephyrine.quill'];
  const paths = forms.flatMap((form) => [
    `/api/v1/jb/users/${form}/`,
    `/api/v1/jb/users/${form}`,
    `/api/v1/jb/users/${form}/usage/zylTKNVx/`,
    `/api/v1/jb/users/${form}/sessions/7/?email=${form}`,
    `/api/v1/jb/users/invitations/${form}/`,
    `/trpc/users.get?input={"json":{"email":"${form}"}}`,
  ]);
  const elsewhere = forms
    .slice(0, -1)
    .flatMap((form) => [
      `/console/people/${form}`,
      `/nowhere/${form}`,
      `//${form}%`,
      `/trpc/users.get%3F${form}`,
    ]);

  for (const url of [...paths, ...elsewhere]) await logged.server.inject({ method: 'GET', url, headers });
  for (const method of ['DELETE', 'POST', 'OPTIONS'] as const)
    await logged.server.inject({ method, url: `/api/v1/jb/users/${email}/`, headers });
  await logged.close();

  const log = lines.join('');
  assert.match(log, '"path":"/api/v1/jb/users/:email/usage/zylTKNVx/"');
  assert.match(log, '"path":"/api/v1/jb/users/invitations/:email/"');
  assert.match(log, '"path":"/console/people/…"');
  assert.not.match(log, /quill|acme\.test/i);
});

logs('have no stack and no error for an upload that is refused', async ({ app }) => {
  const { entries, logged } = await startLogged(app);
  await logged.server.listen({ port: 0, host: '127.0.0.1' });
  const sockets: Socket[] = [];
  const begin = async (path: string): Promise<string> => {
    const socket = connect(Number(new URL(logged.server.listeningOrigin).port), '127.0.0.1');
    sockets.push(socket.on('error', () => {}));
    const headers = `host: x\r\ncontent-type: application/json\r\ncontent-length: ${1024 * 1024}`;
    socket.write(`POST ${path} HTTP/1.1\r\n${headers}\r\n\r\n`);
    const [response] = await once(socket, 'data');
    return String(response).split('\r\n', 1)[0] ?? '';
  };

  // Those that are admitted wait for their bodies, and fill the budget.
  const statuses = [await Promise.race(Array.from({ length: 9 }, () => begin('/trpc/sessions.create')))];
  for (const path of ['/api/v1/session/', '/login/']) statuses.push(await begin(path));
  for (const socket of sockets) socket.destroy();
  await logged.close();

  assert.equal(statuses, Array(3).fill('HTTP/1.1 503 Service Unavailable'));
  const overloaded = entries('overloaded');
  assert.ok(overloaded.length >= 3);
  for (const { level, err, reason } of overloaded) {
    assert.equal([level, err], [40, undefined]);
    assert.match(reason, 'Too many large uploads');
  }
});

logs('have a line for each response, with its request id', async ({ app }) => {
  const { entries, logged } = await startLogged(app);

  await logged.server.inject({ url: '/api/v1/jb/sites/?a=1', headers: { 'x-request-id': 'r-1' } });
  await logged.close();

  const [{ reqId, method, path, status }] = entries('request completed');
  assert.equal([reqId, method, path, status], ['r-1', 'GET', '/api/v1/jb/sites/', 401]);
});

logs('identify the caller only by id', async ({ app }) => {
  const { lines, entries, logged } = await startLogged(app);
  const user_id = await userId(app, ADA);
  const token = { authorization: `Token ${await app.tokenOf(ADA)}` };
  const session = { cookie: cookieHeader((await loggedIn(app)).cookies) };
  const requests = [
    { url: '/api/v1/jb/sites/', headers: token },
    { url: '/api/v1/jb/sites/', headers: session },
    { url: '/api/v1/jb/sites/' },
    { method: 'PATCH', url: '/api/v1/jb/apps/zylTKNVx/', headers: token, payload: {} },
    { method: 'POST', url: '/trpc/sessions.end', headers: session, payload: {} },
  ] as const;
  for (const request of requests) await logged.server.inject(request);
  await logged.close();

  const answered = entries('request completed').map((entry) => [entry.status, entry.user_id]);
  const ofUser = [200, 200, 403, 403].map((status) => [status, user_id]);
  assert.equal(answered, [...ofUser.slice(0, 2), [401, undefined], ...ofUser.slice(2)]);
  assert.not.match(lines.join(''), ADA);
});

logs.run();
